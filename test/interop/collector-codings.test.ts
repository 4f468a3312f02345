import { expect } from '@jest/globals'
import { startCollector } from './peers/start-collector.ts'
import { runTelemetrygen } from './peers/run-telemetrygen.ts'
import { Causeway } from './support/causeway.ts'
import { sceneTest } from './support/scene.ts'

const CODINGS = {
  grpc: ['none', 'gzip', 'snappy', 'zstd'],
  http: ['none', 'gzip', 'zlib', 'deflate', 'zstd', 'snappy', 'x-snappy-framed', 'lz4'],
} as const

for (const exportOver of ['grpc', 'http'] as const) {
  sceneTest(`over ${exportOver} a Collector is taken from in every coding that it offers`, async (scene) => {
    const causeway = await Causeway.start(scene, { exporters: { debug: {} } })
    const exportTo = exportOver === 'grpc' ? causeway.otlpGrpc : causeway.otlpHttp
    for (const compression of CODINGS[exportOver]) {
      const collector = await startCollector(scene, { exportTo, exportOver, compression })
      await runTelemetrygen(scene, 'traces', {
        endpoint: collector.otlpGrpc,
        service: compression,
        count: 50,
      })
      await scene.eventually(() => {
        const [{ spans } = { spans: 0 }] = causeway.stored<{ spans: number }>(
          `SELECT count(*) AS spans FROM audit_spans WHERE service = '${compression}'`,
        )
        expect({ compression, spans }).toEqual({ compression, spans: 100 })
      })
      expect((await collector.metrics()).sum('otelcol_exporter_send_failed_spans')).toBe(0)
    }
  })
}
