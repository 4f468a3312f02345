/** What V8 tells of a script: its functions, the first of them its body, and their ranges, the first of them the whole. */
interface ScriptCoverage {
  url: string
  functions: { functionName: string; ranges: { startOffset: number; endOffset: number; count: number }[] }[]
}

/** What one thread leaves behind under NODE_V8_COVERAGE. */
export interface CoverageReport {
  result: readonly ScriptCoverage[]
}

/** What ran of a process, in all its threads. */
export interface Ran {
  /** The files that were loaded, as paths below the sources. */
  readonly files: ReadonlySet<string>
  /** The functions that were called, as `path:offset`; the body of a file, which runs when it is loaded, is none. */
  readonly functions: ReadonlySet<string>
}

export interface Counts {
  functions: number
  files: number
  rooms: number
}

/** As V8 calls what sets the fields of a class, which nobody wrote as a function. */
const INITIALIZER = /^<\w+_initializer>$/

/** What ran of the files below a URL that ends with a slash, going by the reports of all threads. */
export function ranOf(reports: readonly CoverageReport[], sources: string): Ran {
  const files = new Set<string>()
  const functions = new Set<string>()
  for (const { url, functions: inside } of reports.flatMap(({ result }) => result)) {
    if (!url.startsWith(sources)) continue
    const path = url.slice(sources.length)
    files.add(path)
    for (const { functionName, ranges } of inside.slice(1)) {
      const [whole] = ranges
      const isCalled = whole !== undefined && whole.count > 0
      if (isCalled && !INITIALIZER.test(functionName)) functions.add(`${path}:${whole.startOffset}`)
    }
  }
  return { files, functions }
}

/** The functions that were called in one process and not in another, sorted. */
export function calledOnlyIn(walked: Ran, idle: Ran): string[] {
  return [...walked.functions].filter((called) => !idle.functions.has(called)).sort()
}

/** How many functions there are, in how many files, in how many rooms: the folders at the top. */
export function countsOf(functions: readonly string[]): Counts {
  const files = new Set(functions.map(fileOf))
  const rooms = new Set(
    [...files].flatMap((file) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : [])),
  )
  return { functions: functions.length, files: files.size, rooms: rooms.size }
}

const fileOf = (called: string): string => called.slice(0, called.lastIndexOf(':'))
