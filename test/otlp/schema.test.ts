import { expect, test } from '@jest/globals'
import { MESSAGES } from '../../src/model/otlp/message-schema.ts'

test.each(Object.entries(MESSAGES))('the fields of %s have distinct numbers and names', (_, fields) => {
  expect(new Set(fields.map(({ no }) => no)).size).toBe(fields.length)
  expect(new Set(fields.map(({ name }) => name)).size).toBe(fields.length)
})

test('every message is part of a request', () => {
  const reached = new Set([
    'ExportTraceServiceRequest',
    'ExportLogsServiceRequest',
    'ExportMetricsServiceRequest',
  ] as const as readonly string[])
  for (const name of reached) {
    for (const field of MESSAGES[name as keyof typeof MESSAGES]) {
      if (field.type === 'message') reached.add(field.message)
    }
  }
  expect([...reached].toSorted()).toEqual(Object.keys(MESSAGES).toSorted())
})
