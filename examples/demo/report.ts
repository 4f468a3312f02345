import type { Written } from '../control-plane/runtime/traced-work.ts'

/** What a process of the demo tells the demo. */
export type Report = { kind: 'ready' } | ({ kind: 'wrote' } & Written)
