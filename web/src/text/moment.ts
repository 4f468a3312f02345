const DATE = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short' })
const TIME = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium' })

/** A moment in the reader's time zone: `2026-01-31 14:05:09`. Today's date is left out. */
export function moment(rfc3339: string, nowMs: number): string {
  const at = new Date(rfc3339)
  const isToday = DATE.format(at) === DATE.format(nowMs)
  return isToday ? TIME.format(at) : `${DATE.format(at)} ${TIME.format(at)}`
}

/** The time of day with milliseconds. */
export function timeOfDay(rfc3339: string): string {
  const at = new Date(rfc3339)
  return `${TIME.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`
}

/** How long ago: `12 s ago`. */
export function ago(rfc3339: string, nowMs: number): string {
  const seconds = Math.round((nowMs - Date.parse(rfc3339)) / 1000)
  if (seconds < 1) return 'now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}
