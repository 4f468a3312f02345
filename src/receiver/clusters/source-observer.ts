import type { ClusterObserver } from './cluster-observer.ts'

/** Is told of what comes to receivers by itself, or lies in files. */
export interface SourceObserver extends Pick<ClusterObserver, 'told' | 'skipped' | 'unreadable'> {
  /** So much was seen and could not be told, and does not come again. */
  lost(receiver: string, count: number): void
  /** So many bytes of a file are written and not told yet. */
  behind(receiver: string, bytes: number): void
}
