import { expect } from '@jest/globals'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest } from '../support/scene.ts'
import { cpidOf, OperatorStage, WEB_APPS, webApp, type Kept } from './support/operator-stage.ts'

const WEB = `${WEB_APPS}/web`
const ANCESTORS = 'causeway.io/ancestor-cpids'

sceneTest(
  'what kubectl writes over a change that nobody acted on is a merge as long as something of it is left',
  async (scene) => {
    const backend = scene.use(await TraceBackend.up())
    const exporters = { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) }
    const causeway = await Causeway.start(scene, { exporters })
    // No operator runs.
    const stage = await OperatorStage.set(scene, `http://${causeway.otlpHttp}`)
    const { api } = stage
    await api.create(WEB_APPS, webApp(1))
    await api.patch(`${WEB}/status`, { status: { observedGeneration: 1, readyReplicas: 1 } })
    const patched = async (spec: object): Promise<{ cpid: string; ancestors: string[] }> => {
      await stage.announced('patched', 'patch', 'webapp/web', '--type=merge', '-p', JSON.stringify({ spec }))
      const app = await api.get<Kept>(WEB)
      const ancestors = app.metadata.annotations?.[ANCESTORS] ?? ''
      return { cpid: cpidOf(app), ancestors: ancestors === '' ? [] : ancestors.split(',') }
    }
    const first = await patched({ replicas: 2 })
    expect(first.ancestors).toEqual([])
    const second = await patched({ replicas: 3 })
    expect(second.ancestors).toEqual([])
    const third = await patched({ image: 'nginx:2' })
    expect(third.ancestors).toEqual([second.cpid, expect.any(String)])
  },
)
