/**
 * What `read` makes of the command line. Undefined when nothing is left to do: the usage was asked for and printed, or the
 * Error that `read` threw was, and the process will end with 2.
 */
export function optionsGiven<Options>(usage: string, read: (args: string[]) => Options): Options | undefined {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    console.log(usage)
    return undefined
  }
  try {
    return read(args)
  } catch (error) {
    console.error(`${reasonOf(error)}\n\n${usage}`)
    process.exitCode = 2
    return undefined
  }
}

/** What went wrong, in words for whoever started the command. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Throws an Error that says what to write instead. */
export function oneOf<Name extends string>(flag: string, names: readonly Name[], text: string): Name {
  const name = names.find((known) => known === text)
  if (name === undefined) throw new Error(`${flag} ${text}: write ${names.join(' or ')}`)
  return name
}

/** Throws an Error that says what to write instead. */
export function countOf(flag: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${flag} ${text}: write a whole number from 1`)
  return Number(text)
}
