import { expect, test } from '@jest/globals'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'
import { freePort } from '../../lab/harness/free-ports.ts'
import { demoFaults } from './demo-faults.ts'
import { DemoRun } from './demo-run.ts'

const LONGEST_MS = 200_000

/** To a file as well in npm run test:faults. */
const OUTPUTS =
  process.env['CAUSEWAY_KILLS'] === undefined ? (['pipe'] as const) : (['pipe', 'file'] as const)

test.each(OUTPUTS)(
  'npm run demo shows the settled cascade of its six services, and sends it on; it prints to a %s',
  async (output) => {
    await using backend = await TraceBackend.up()
    const nobody = `127.0.0.1:${await freePort()}`
    const sets = ['--set', `exporters.otlp_grpc/jaeger.endpoint=${nobody}`]
    // However busy this machine is, nothing settles before the story is over.
    const patient = ['--settle-after', '15s', '--set', 'connectors.cpid.linking.wait=10s']
    await using demo = await DemoRun.start(
      output,
      ...['--exporter-endpoint', `127.0.0.1:${backend.port}`, ...sets, ...patient],
    )
    const { code } = await demo.ending()
    expect({ code, faults: demoFaults(demo.printed), ...(code !== 0 && { printed: demo.printed }) }).toEqual({
      code: 0,
      faults: [],
    })
    expect(demo.printed).toContain(
      `sends traces to ${nobody}, where nobody listens: start a Jaeger or Tempo there`,
    )
    const [, alpha = 'no α'] = /^ {2}([0-9a-f]{32})$/m.exec(demo.printed) ?? []
    expect(new Set(backend.spans.map(({ traceId }) => traceId))).toContain(alpha)
    await demo.untilGone()
  },
  LONGEST_MS,
)
