import { anyValueText, attributeTexts } from './any-value-text.ts'
import { type RequestItem } from './request-walk.ts'
import { timeText } from './time-text.ts'
import { hexOf, lastBits, lastBytes, lastInt, lastText } from './wire-fields.ts'

/** A log record on one line: event name, body, attributes. */
export function logLine({ item }: RequestItem): string {
  const event = lastText(item, 12)
  return [
    ...(event === '' ? [] : [event]),
    anyValueText(lastBytes(item, 5)),
    ...attributeTexts(item, 6),
  ].join(' ')
}

/** A log record with all that is in it, a fact a line. */
export function logLines({ resource, scope, item }: RequestItem): string[] {
  return [
    `LogRecord ${lastText(item, 12)}`,
    `    time: ${timeText(lastBits(item, 1))}`,
    `    observed time: ${timeText(lastBits(item, 11))}`,
    `    severity: ${String(lastInt(item, 2))} ${lastText(item, 3)}`,
    `    body: ${anyValueText(lastBytes(item, 5))}`,
    `    trace id: ${hexOf(lastBytes(item, 9))}`,
    `    span id: ${hexOf(lastBytes(item, 10))}`,
    `    scope: ${lastText(scope, 1)} ${lastText(scope, 2)}`,
    ...attributeTexts(resource, 1).map((text) => `    resource attribute: ${text}`),
    ...attributeTexts(item, 6).map((text) => `    attribute: ${text}`),
  ].map((line) => line.trimEnd())
}
