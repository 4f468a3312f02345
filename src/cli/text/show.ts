const NS_PER_US = 1_000n
const NS_PER_MS = 1_000_000n
const NS_PER_S = 1_000_000_000n
const NS_PER_MIN = 60n * NS_PER_S
const NS_PER_H = 60n * NS_PER_MIN

// Names come from outside; on a terminal a control character in one could do anything, and one that formats, such as U+202E,
// has it read as another.
const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Text from outside on one line, without control characters; a dash where there is none. */
export function plain(text: string | undefined): string {
  return text === undefined || text === '' ? '-' : text.replaceAll(CONTROLS, '\ufffd')
}

/** An object reference without its uid and resourceVersion, on one line. */
export function objectText(reference: string | undefined): string {
  return plain(reference?.split('?', 1)[0])
}

/** A duration with about three digits: 12.3ms, 1.23s, 2m03s, 1h02m. */
export function duration(ns: bigint): string {
  if (ns < 0n) return `-${duration(-ns)}`
  if (ns < NS_PER_US) return `${ns}ns`
  if (ns < NS_PER_MS) return `${threeDigits(ns, NS_PER_US)}µs`
  if (ns < NS_PER_S) return `${threeDigits(ns, NS_PER_MS)}ms`
  if (ns < NS_PER_MIN) return `${threeDigits(ns, NS_PER_S)}s`
  if (ns < NS_PER_H) return `${ns / NS_PER_MIN}m${twoDigits((ns % NS_PER_MIN) / NS_PER_S)}s`
  return `${ns / NS_PER_H}h${twoDigits((ns % NS_PER_H) / NS_PER_MIN)}m`
}

/** `1 span`, `2 spans` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** Cuts instead of rounding, so that 999.9 ms does not become 1000 ms. */
function threeDigits(ns: bigint, unit: bigint): string {
  const whole = ns / unit
  const decimals = whole >= 100n ? 0 : whole >= 10n ? 1 : 2
  const fraction = ((ns % unit) * 100n) / unit
  const digits = twoDigits(fraction).slice(0, decimals).replace(/0+$/, '')
  return digits === '' ? String(whole) : `${whole}.${digits}`
}

function twoDigits(value: bigint): string {
  return value.toString().padStart(2, '0')
}
