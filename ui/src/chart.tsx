// uPlot in the colours of the page.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

/** Returns a colour of the page (style.css). */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Chart({ data, options, height, label }: { data: uPlot.AlignedData; options: () => Omit<uPlot.Options, 'width' | 'height'>; height: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 }, font: '12px system-ui, sans-serif' };
      const given = options();
      const axes = (given.axes ?? [{}, {}]).map((one) => ({ ...axis, ...one }));
      plot = new uPlot({ ...given, axes, width: Math.max(element.clientWidth, 200), height }, data, element);
    };
    draw();
    const watch = new ResizeObserver(() => plot?.setSize({ width: Math.max(element.clientWidth, 200), height }));
    watch.observe(element);
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    window.addEventListener('wayleave-theme', draw);
    return () => {
      watch.disconnect();
      dark.removeEventListener('change', draw);
      window.removeEventListener('wayleave-theme', draw);
      plot?.destroy();
    };
  }, [data, height]);
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}
