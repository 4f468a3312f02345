/** What of a CPU profile as V8 writes it is used here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

/** The file that runs a thread, as its URL ends. */
const THREAD_FILES = {
  store: '/store/store-thread.ts',
  export: '/exporter/export-thread.ts',
  checkpoint: '/store/checkpoint-thread.ts',
  query: '/query/threads/query-thread.ts',
} as const

export type ProfiledThread = keyof typeof THREAD_FILES | 'main'

/** Causes by what is innermost on the stack: the first frame, from within, that one of these knows. */
const CAUSES: readonly (readonly [cause: string, frame: RegExp])[] = [
  ['gc', /^\(garbage collector\)/],
  ['commit', /^exec .*better-sqlite3/],
  ['outbox', /\/store\/sqlite\/(outbox|outgoing-traces)\.ts$/],
  ['arrivals', /\/store\/sqlite\/(arrivals|scopes)\.ts$/],
  ['readBack', /\/store\/sqlite\/arrived-spans\.ts$/],
  ['traceIds', /\/store\/sqlite\/trace-id-index\.ts$/],
  ['graph', /\/store\/sqlite\/merge-graph\.ts$|\/src\/graph\//],
  ['otherSql', /\/store\/sqlite\/|better-sqlite3/],
  ['linker', /\/src\/linker\//],
  ['decode', /\/src\/model\//],
  ['compression', / node:(internal\/)?zlib/],
  ['transport', /grpc-js| node:(internal\/)?(http|http2|net|stream|_http)/],
  ['messages', /^postMessage |structuredClone| node:internal\/worker/],
  ['build', /\/src\/exporter\//],
  ['receive', /\/src\/receiver\/|\/src\/platform\//],
  ['schedule', /\/src\/store\//],
]

const NOT_BUSY = new Set(['(idle)'])

/** Milliseconds that a thread was busy with each cause; `other` is what no rule knows. They add up to the whole. */
export function causesOf({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const known = new Map<number, string | undefined>()
  const causeOf = (id: number): string | undefined => {
    const { functionName } = byId.get(id)?.callFrame ?? { functionName: '' }
    return NOT_BUSY.has(functionName) ? undefined : firstCause(id)
  }
  const firstCause = (leaf: number): string => {
    for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
      const { functionName, url } = byId.get(id)?.callFrame ?? { functionName: '', url: '' }
      const cause = CAUSES.find(([, frame]) => frame.test(`${functionName} ${url}`))
      if (cause !== undefined) return cause[0]
    }
    return 'other'
  }
  const causes = new Map<string, number>()
  for (const [at, id] of samples.entries()) {
    if (!known.has(id)) known.set(id, causeOf(id))
    const cause = known.get(id)
    if (cause !== undefined) causes.set(cause, (causes.get(cause) ?? 0) + (timeDeltas[at] ?? 0) / 1000)
  }
  return causes
}

/** Which of Causeway's threads a profile is of. */
export function threadOf({ nodes }: CpuProfile): ProfiledThread {
  const urls = new Set(nodes.map(({ callFrame }) => callFrame.url))
  const isOf = (ending: string): boolean => [...urls].some((url) => url.endsWith(ending))
  const threads = Object.entries(THREAD_FILES) as [ProfiledThread, string][]
  return threads.find(([, ending]) => isOf(ending))?.[0] ?? 'main'
}
