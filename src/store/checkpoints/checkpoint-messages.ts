export interface CheckpointThreadData {
  path: string
}

/** `move`: copy what lies in the write-ahead log into the database. */
export type ToCheckpoints = 'move' | 'stop'

export type FromCheckpoints = 'moved' | 'failed'
