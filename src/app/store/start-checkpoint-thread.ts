import type { CheckpointThreadData } from '../../store/checkpoints/checkpoint-messages.ts'
import type { CheckpointThread } from '../../store/checkpoints/checkpoints.ts'
import { ChildThread } from '../../threads/child-thread.ts'

/** Starts a thread that moves the write-ahead log of the database at `path`. */
export function startCheckpointThread(path: string): CheckpointThread {
  return new ChildThread({
    name: 'checkpoint',
    file: new URL('./checkpoint-thread.ts', import.meta.url),
    data: { path } satisfies CheckpointThreadData,
    youngMib: 2,
    oldMib: 64,
  })
}
