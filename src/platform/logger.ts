import { CONTROLS, ownValue, plainJson } from '../model/untrusted-names.ts'
import type { Clock } from '../model/time-and-size.ts'

type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** What a field may hold: plain values, so that a line can always be written. */
type LogValue = string | number | bigint | boolean | undefined | readonly string[]
type LogFields = Readonly<Record<string, LogValue>>

/** Writes log lines. Never pass it a secret: a header's value, a token, an environment variable. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A logger for a part of the program; `fields` go with every line of it. */
  child(caller: string, fields?: LogFields): Logger
}

export interface LoggerSettings {
  /** Less serious lines are left out. */
  level: LogLevel
  /** console: tab-separated for people. json: one object a line. */
  encoding: 'console' | 'json'
  clock: Pick<Clock, 'wallMs'>
  /** Takes one line, without its end. */
  write: (line: string) => void
  /** The caller, where the Collector names a source file. */
  caller: string
  fields?: LogFields
}

const SERIOUSNESS: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** Makes a logger whose lines look like the Collector's own. */
export function createLogger(settings: LoggerSettings): Logger {
  const lineOf = settings.encoding === 'json' ? jsonLine : consoleLine
  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (SERIOUSNESS[level] < SERIOUSNESS[settings.level]) return
      const time = new Date(settings.clock.wallMs()).toISOString()
      settings.write(lineOf(time, level, settings.caller, message, { ...settings.fields, ...fields }))
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (caller, fields) =>
      createLogger({ ...settings, caller, fields: { ...settings.fields, ...fields } }),
  }
}

function consoleLine(
  time: string,
  level: LogLevel,
  caller: string,
  message: string,
  fields: LogFields,
): string {
  const context = toJson(fields)
  const columns = [time, level, caller, oneLine(message), ...(context === '{}' ? [] : [context])]
  return columns.join('\t')
}

function jsonLine(time: string, level: LogLevel, caller: string, message: string, fields: LogFields): string {
  return toJson({ ...fields, level, ts: time, caller, msg: message }, ['level', 'ts', 'caller', 'msg'])
}

function toJson(fields: LogFields, first: readonly string[] = []): string {
  const names = [...first, ...Object.keys(fields).filter((name) => !first.includes(name))]
  const ordered = names.map((name) => [name, ownValue(fields, name)] as const)
  const json = JSON.stringify(Object.fromEntries(ordered), (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return plainJson(json)
}

/** Makes text from outside one line without tabs and without control characters, which a terminal would execute. */
function oneLine(message: string): string {
  return message.replaceAll(/[\n\r\t]+/g, ' ').replaceAll(CONTROLS, '\ufffd')
}
