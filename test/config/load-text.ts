import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { ConfigError, describeMistake } from '../../src/config/schema.ts'

interface Around {
  sets?: string[]
  env?: Record<string, string>
  files?: Record<string, string>
}

/** Loads one YAML text, or several laid over each other. */
export function loadText(yaml: string | string[], { sets = [], env = {}, files = {} }: Around = {}) {
  const layers = [yaml].flat()
  const readFile = (path: string) => {
    const text = path in files ? files[path] : layers[Number(path)]
    if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
    return text
  }
  return loadConfig({ sources: layers.map((_, index) => String(index)), sets, env, readFile }, COMPONENTS)
}

/** The mistakes in a YAML text, one line each. */
export function mistakesIn(yaml: string | string[], around: Around = {}): string[] {
  return mistakesOf(() => loadText(yaml, around))
}

/** The mistakes that loading ends with, one line each, without their places. */
export function mistakesOf(load: () => unknown): string[] {
  return errorOf(load).map(({ path, message }) => describeMistake({ path, message }))
}

/** The mistakes that loading ends with. */
export function errorOf(load: () => unknown): ConfigError['mistakes'] {
  try {
    load()
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.mistakes
  }
}

/** The least that runs: stores what comes in over gRPC and answers. */
export const SMALLEST = `
receivers: { otlp: { protocols: { grpc: } } }
connectors: { cpid: }
service: { pipelines: { traces/in: { receivers: [otlp], exporters: [cpid] } } }
`

/** The same, and what comes out goes to one gRPC exporter. */
export const WITH_EXPORTER = `
receivers: { otlp: { protocols: { grpc: } } }
connectors: { cpid: }
exporters: { otlp_grpc: { endpoint: tempo:4317 } }
service:
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    traces/out: { receivers: [cpid], exporters: [otlp_grpc] }
`
