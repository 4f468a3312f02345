import type { Written } from '../../packages/control-plane/runtime/traced-work.ts'

/** What a process of the demo tells the demo. */
export type Report = { kind: 'ready' } | ({ kind: 'wrote' } & Written)

/** What the demo tells a process: that kubectl is to begin, or that the story is over. */
export type Cue = 'begin' | 'end'
