// uPlot in the colours of the page.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { ticks } from './format';

/** Returns a colour of the page (style.css). */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const FONT = '12px system-ui, sans-serif';

/** Steps of a time axis in seconds: no two labels show the same second. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 2 * 86_400, 7 * 86_400];

/** Axis of times. */
export function timeAxis(): uPlot.Axis {
  return { label: 'time of day', incrs: STEPS, space: 80, size: 52, values: (_plot, values) => ticks(values) };
}

/** Range of a time axis: at least a minute, so that a single moment does not fill it. */
export function timeRange(_plot: uPlot, low: number, high: number): [number, number] {
  const missing = Math.max(0, 60 - (high - low)) / 2;
  return [low - missing, high + missing];
}

export function Chart({ data, options, height, label }: { data: uPlot.AlignedData; options: () => Omit<uPlot.Options, 'width' | 'height'>; height: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 }, font: FONT, labelFont: FONT, labelSize: 20 };
      const given = options();
      const axes = (given.axes ?? [{}, {}]).map((one) => ({ ...axis, ...one }));
      // The legend has the kinds of lines, since two may have one colour.
      const dash = (plot: uPlot, at: number) => (plot.series[at]?.dash ? (Number(plot.series[at]?.width) > 1 ? 'dashed' : 'dotted') : 'solid');
      plot = new uPlot({ ...given, axes, legend: { ...given.legend, markers: { dash: dash as unknown as string } }, width: Math.max(element.clientWidth, 200), height }, data, element);
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
