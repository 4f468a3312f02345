import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

/** Lines of code of a program of examples/webapp in Go. */
const linesOf = (path: string): string[] =>
  readFileSync(new URL(`../../go/examples/webapp/cmd/${path}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('//'))

test('an operator in Go takes part by at most ten lines more, and none of its own changes', () => {
  const plain = linesOf('plain/main.go')
  let next = 0
  const added = linesOf('main.go').filter((line) => {
    if (line !== plain[next]) return true
    next++
    return false
  })
  expect(plain.slice(next)).toEqual([])
  expect(added).toContain('\tmgr = causeway.WrapManager(mgr)')
  expect(added.length).toBeLessThanOrEqual(10)
})
