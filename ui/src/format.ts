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

export function bytes(count: number, round: (value: number) => number = Math.ceil): string {
  const [size, unit] = ([[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']] as [number, string][]).find(([size]) => count >= size) ?? [1, 'B'];
  return `${digits(count / size, round)} ${unit}`;
}

/** Size of a buffer without a limit, the maximum of a size in Wayleave. */
const UNLIMITED = 1e11;

/** Returns `true` for the size of a buffer without a limit, as hosts have. */
export function isUnlimited(size: number): boolean {
  return size >= UNLIMITED;
}

/** Formats a share in millionths, rounded up. */
export function percent(ppm: number): string {
  if (ppm > 0 && ppm < 1000) return '< 0.1\u00a0%';
  return `${(Math.ceil(ppm / 1000) / 10).toLocaleString('en', { maximumFractionDigits: ppm >= 100_000 ? 0 : 1 })}\u00a0%`;
}

/** Formats a remaining share in millionths, rounded down. */
export function remaining(ppm: number): string {
  return `${(Math.floor(ppm / 1000) / 10).toLocaleString('en', { maximumFractionDigits: 1 })}\u00a0%`;
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

const PREFIXES: Record<string, number> = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** Returns a rate of a file ("10Mbit") in bit/s; `undefined` for other text. */
export function bitrate(text: string | undefined): number | undefined {
  const found = /^([\d.]+)([kMGT]?)bit$/.exec(text ?? '');
  return found ? Number(found[1]) * (PREFIXES[found[2] ?? ''] ?? 1) : undefined;
}

/** Formats a rate, time or size of a file ("10Mbit", "5ms", "3kB") with at most four digits. */
export function quantity(text: string | undefined, round: (value: number) => number = Math.ceil): string {
  const [all, number = '', unit = ''] = /^([\d.]+)([A-Za-zµ]+)$/.exec(text ?? '') ?? [];
  if (all === undefined) return text ?? '';
  if (number.replace('.', '').replace(/^0+/, '').length > 4) {
    const bps = bitrate(all);
    const size = UNITS.find(([, name]) => name === unit.replace('µ', 'u'))?.[0];
    if (bps !== undefined) return rate(bps, round);
    if (size !== undefined) return time(Number(number) * size, round);
    if (unit.endsWith('B')) return bytes(Number(number) * (PREFIXES[unit.slice(0, -1)] ?? 1), round);
  }
  return `${number} ${unit.replace(/bit$/, 'bit/s')}`;
}

/** Shortens text in the middle. */
export function middle(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.ceil((most - 1) / 2))}…${text.slice(-Math.floor((most - 1) / 2))}`;
}

/** Maximum length of a name without a part that is left out, and of the parts of one that is longer. */
const MAX_NAME = 48;
const MAX_PART = 22;

/** Shortens a name that is too long for a table; a tenant and a contract, or two nodes, are shortened each. */
export function short(name: string): string {
  if (name.length <= MAX_NAME) return name;
  const [, left = '', between = '', right = ''] = /^(.+?)(:|->)(.+)$/.exec(name) ?? [];
  return left ? `${middle(left, MAX_PART)}${between}${middle(right, MAX_PART)}` : middle(name, MAX_NAME);
}

/** Returns the name of a network that was read from a file, without its folder. */
export function network(name: string): string {
  return name.split('/').pop() || name;
}

/** Formats ticks of a time axis in seconds: the time of day, with the date at the first one and after midnight. */
export function ticks(seconds: number[]): string[] {
  const step = (seconds[1] ?? 0) - (seconds[0] ?? 0);
  return seconds.map((second, at) => {
    const then = new Date(second * 1000);
    const day = then.toLocaleDateString('en-CA');
    if (step >= 86_400) return day;
    const clock = then.toLocaleTimeString('en-GB', step < 60 ? {} : { hour: '2-digit', minute: '2-digit' });
    const before = seconds[at - 1];
    const isNew = before === undefined || new Date(before * 1000).toLocaleDateString('en-CA') !== day;
    return isNew ? `${clock}\n${day}` : clock;
  });
}
