import { closeSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { percentile } from './figures.ts'

const TMPFS = 0x01021994
const SYNCS = 30

export interface Machine {
  node: string
  system: string
  cpu: string
  cores: number
  memoryGib: number
  /** How long a small write takes to reach the disk, median; Causeway waits for that at every commit. */
  syncMs: number
  isInMemory: boolean
}

export function describeMachine(directory: string): Machine {
  return {
    node: process.versions.node,
    system: `${type()} ${release()} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    syncMs: measureSync(join(directory, `sync-${process.pid}`)),
    isInMemory: statfsSync(directory).type === TMPFS,
  }
}

function measureSync(path: string): number {
  const file = openSync(path, 'w')
  try {
    const page = Buffer.alloc(4096, 1)
    const times = Array.from({ length: SYNCS }, () => {
      writeSync(file, page)
      const startedMs = performance.now()
      fsyncSync(file)
      return performance.now() - startedMs
    })
    return percentile(
      times.sort((a, b) => a - b),
      0.5,
    )
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
