import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from '@jest/globals'
import { Recording } from '../../src/importing/recordings.ts'

const ROUNDS = process.env.CAUSEWAY_FAULTS === '1' ? 60 : 8

/** Writes a line as soon as the one before it was read, renames the file with it, and goes on in a new file of the old name. */
const ROTATING = `
  const { appendFileSync, renameSync, writeFileSync } = require('node:fs')
  const { path, read, rounds } = require('node:worker_threads').workerData
  let line = 0
  const untilRead = () => {
    while (Atomics.load(read, 0) < line) Atomics.wait(read, 0, Atomics.load(read, 0), 10)
  }
  for (let round = 0; round < rounds; round++) {
    appendFileSync(path, line++ + '\\n')
    untilRead()
    for (let spins = ((round * 7_919) % 400) * 200; spins > 0; spins--) Atomics.load(read, 0)
    appendFileSync(path, line++ + '\\n')
    renameSync(path, path + '.' + round)
    writeFileSync(path, line++ + '\\n')
    untilRead()
  }`

test('what is written to a recording just before it is rotated is read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-rotated-'))
  const path = join(folder, 'audit.log')
  writeFileSync(path, '')
  const recording = await Recording.open({ source: 'audit', path })
  const read = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const stop = new AbortController()
  const worker = new Worker(ROTATING, { eval: true, workerData: { path, read, rounds: ROUNDS } })
  const lines: number[] = []
  for await (const some of recording.lines({ signal: stop.signal, onEnd: () => undefined })) {
    for (const line of some) if (Buffer.isBuffer(line)) lines.push(Number(line))
    Atomics.store(read, 0, (lines.at(-1) ?? -1) + 1)
    Atomics.notify(read, 0)
    if (lines.at(-1) === 3 * ROUNDS - 1) stop.abort()
  }
  await worker.terminate()
  rmSync(folder, { recursive: true })
  expect(lines).toEqual(Array.from({ length: 3 * ROUNDS }, (_, at) => at))
})
