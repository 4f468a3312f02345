import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { BIN, CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { RunningProgram } from '../../lab/harness/processes/running-program.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { markerSpan } from './support/marker-span.ts'

leaveNothingBehind()

test.each([
  ['a disk that is full', 'exec "$@" >/dev/full 2>&1'],
  ['a program that has ended', 'exec "$@" > >(:) 2>&1'],
])('a log that goes to %s ends nothing', async (_, script) => {
  const settings = await freshSettings()
  settings.patch = {
    exporters: { debug: { verbosity: 'detailed' } },
    service: { pipelines: { 'traces/out': { receivers: ['cpid'], exporters: ['debug'] } } },
  }
  await using causeway = new CausewayProcess(settings, process.execPath, [
    'bash',
    '--norc',
    '-c',
    script,
    'bash',
  ])
  await causeway.ready()
  using sender = new GrpcSender(settings.ports.grpc)
  for (const name of ['first', 'second'])
    expect(await sender.export('traces', markerSpan(name).bytes)).toMatchObject({ code: 0 })
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(storedSpans(settings)).toHaveLength(2)
})

test('a command whose output cannot be written says so in a line', async () => {
  const command = [process.execPath, BIN, 'components']
  await using program = new RunningProgram({
    name: 'causeway components',
    command: 'bash',
    args: ['--norc', '-c', 'exec "$@" >/dev/full', 'bash', ...command],
  })
  expect(await program.ending()).toEqual({ code: 1, signal: null })
  expect(program.errors).toMatch(/^Error: cannot write the output: .*ENOSPC.*\n$/)
})
