// Formats numbers for display. Bounds are rounded up and remaining capacity is rounded down, as everywhere in
// Wayleave.

const UNITS: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];

function digits(value: number, round: (value: number) => number): string {
  const places = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  const factor = 10 ** places;
  // Keeps whole numbers of a unit whole in spite of floating point.
  const scaled = Math.round(value * factor * 1e6) / 1e6;
  return (round(scaled) / factor).toLocaleString('en', { maximumFractionDigits: places });
}

/** Formats a time in ns, rounded up. */
export function time(ns: number, round: (value: number) => number = Math.ceil): string {
  const [size, unit] = UNITS.find(([size]) => ns >= size) ?? [1, 'ns'];
  return `${digits(ns / size, round)} ${unit}`;
}

/** Formats an allowed or remaining time in ns, rounded down. */
export function allowed(ns: number): string {
  return time(ns, Math.floor);
}

/** Formats a rate in bit/s. */
export function rate(bps: number, round: (value: number) => number = Math.ceil): string {
  const [size, unit] = ([[1e9, 'Gbit/s'], [1e6, 'Mbit/s'], [1e3, 'kbit/s']] as [number, string][]).find(([size]) => bps >= size) ?? [1, 'bit/s'];
  return `${digits(bps / size, round)} ${unit}`;
}

export function bytes(count: number): string {
  const [size, unit] = ([[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']] as [number, string][]).find(([size]) => count >= size) ?? [1, 'B'];
  return `${digits(count / size, Math.ceil)} ${unit}`;
}

/** Formats a share in millionths, rounded up. */
export function percent(ppm: number): string {
  if (ppm > 0 && ppm < 1000) return '< 0.1 %';
  return `${(Math.ceil(ppm / 1000) / 10).toLocaleString('en', { maximumFractionDigits: ppm >= 100_000 ? 0 : 1 })} %`;
}

export function count(number: number): string {
  return number.toLocaleString('en');
}

/** Formats a count: "1 contract", "2 contracts". */
export function many(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** Formats a time of day, with the date if it is not today. */
export function when(at: string): string {
  const then = new Date(at);
  if (Number.isNaN(then.getTime())) return at;
  const clock = then.toLocaleTimeString('en-GB');
  return then.toDateString() === new Date().toDateString() ? clock : `${then.toLocaleDateString('en-CA')} ${clock}`;
}

/** Formats a rate or time of a file ("10Mbit", "5ms") with a space. */
export function quantity(text: string | undefined): string {
  return (text ?? '').replace(/^([\d.]+)([A-Za-zµ]+)$/, (_, number, unit) => `${number} ${unit.replace(/bit$/, 'bit/s')}`);
}

/** Returns the name of a network that was read from a file, without its folder. */
export function network(name: string): string {
  return name.split('/').pop() || name;
}
