/** A readable duration with three digits: `950 µs`, `12.3 ms`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 0) return `−${duration(-ms)}`
  if (ms === 0) return '0 ms'
  if (ms < 0.001) return `${Math.round(ms * 1e6)} ns`
  if (ms < 0.9995) return `${digits(ms * 1000)} µs`
  if (ms < 999.5) return `${digits(ms)} ms`
  if (ms < 59_950) return `${digits(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  const hours = Math.round(minutes / 60)
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** How long work took. With a watch alone that is not known, and its spans have next to no length. */
export function took(ms: number): string {
  return ms > 0 && ms < 0.001 ? '< 1 µs' : duration(ms)
}

/** A part of a whole that is not nothing. */
export function percent(part: number): string {
  return part < 0.01 ? '< 1 %' : `${Math.round(100 * part)} %`
}

/** A difference between durations, always with its sign. */
export function difference(ms: number): string {
  return ms > 0 ? `+${duration(ms)}` : duration(ms)
}

function digits(value: number): string {
  if (value >= 99.95) return value.toFixed(0)
  return value.toFixed(value >= 9.995 ? 1 : 2)
}
