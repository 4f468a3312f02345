/** One thing wrong with the configuration: where, as `a::b::c`, and what to write instead. */
export interface Mistake {
  path: string
  message: string
}

/** Everything wrong with a configuration, all at once. */
export class ConfigError extends Error {
  readonly mistakes: Mistake[]

  constructor(mistakes: Mistake[]) {
    super(mistakes.map(describeMistake).join('\n'))
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

/** A mistake as one line; a message that already names its path stands alone. */
export function describeMistake({ path, message }: Mistake): string {
  const line = path === '' || message.startsWith(`'${path}'`) ? message : `${path}: ${message}`
  return line.replaceAll(/\s*\n\s*/g, ' ')
}
