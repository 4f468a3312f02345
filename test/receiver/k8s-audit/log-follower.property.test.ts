import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { AuditLog, auditLine, Followed } from './support/audit-log.ts'

type Step = { write: number } | 'half' | 'look' | 'readAll' | 'restart' | 'stop' | 'rotate'

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ write: fc.integer({ min: 1, max: 12 }) }),
  fc.constantFrom<Step[]>('half', 'look', 'readAll', 'restart', 'stop', 'rotate'),
)

test.each(['rename', 'copyAndTruncate'] as const)(
  'every event is told once and in order, however the log is rotated by %s and whenever Causeway starts again',
  async (how) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        using log = new AuditLog()
        const followed = new Followed(log.path)
        const written: string[] = []
        /** What is left to be written of a line. */
        let rest = ''
        const write = (): void => {
          if (rest === '') {
            written.push(`e${written.length}`)
            rest = auditLine(`e${written.length - 1}`)
          }
          log.append(rest)
          rest = ''
        }
        // A log that was never looked at has no files from before.
        write()
        await followed.readAll()
        for (const one of steps) {
          if (typeof one === 'object') for (let at = 0; at < one.write; at++) write()
          else if (one === 'half' && rest === '') {
            written.push(`e${written.length}`)
            const line = auditLine(`e${written.length - 1}`)
            log.append(line.slice(0, 90))
            rest = line.slice(90)
          } else if (one === 'look') await followed.look()
          else if (one === 'readAll') await followed.readAll()
          else if (one === 'restart') await followed.restart()
          else if (one === 'stop') followed.isStopped = true
          // Whoever writes a log rotates it between lines. A copy is known by what was read of the log.
          else if (one === 'rotate' && rest === '' && (how === 'rename' || followed.hasBegun)) log[how]()
        }
        if (rest !== '') write()
        await followed.restart()
        await followed.readAll()
        await followed.restart()
        expect(followed.ids).toEqual(written)
        expect([followed.unreadable, followed.behind]).toEqual([0, 0])
      }),
      { numRuns: 150 },
    )
  },
)
