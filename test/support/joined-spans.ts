import { cpid, hexTrace, type SpanSketch } from './otlp-requests.ts'
import { drawTrace, traceOf } from './sent-spans.ts'
import { TestWriter, type TestSettings } from './test-writer.ts'

export const REQUEST = '013e001e-09b8-4896-b7a3-7cec3b4a7635'
export const POD = 'v1/pods/shop/web-1'
export const CHANGE = cpid(1)
export const WAIT = 10_000

/** Something tells of requests and of Pods. */
export const AWAITING = { awaitsRequests: true, awaitsPods: true }

export const opened = (settings: TestSettings = {}): Promise<TestWriter> =>
  TestWriter.open({ ...settings, linking: { ...AWAITING, ...settings.linking } })

/** An operator's change, and the write of it as inference tells of it. */
export function tellWrite(writer: TestWriter, said: Partial<SpanSketch> = {}, cluster = 'eu'): void {
  writer.mergelogs('kubectl', [{ new: CHANGE }], cluster)
  writer.spans(
    'kubectl',
    [
      {
        ...{ trace: 1, id: 1, name: 'write', cpid: CHANGE, start: 1, ...said },
        attributes: {
          ...{ 'cpid.cause': 'operator', 'cpid.audit_id': REQUEST, 'cpid.wrote': [`${POD}?uid=u&rv=7`] },
          ...said.attributes,
        },
      },
    ],
    cluster,
  )
}

/** What an API server says of a request: those within come first, as they end first. */
export const request = (said: Partial<SpanSketch> = {}, auditId = REQUEST): SpanSketch[] => [
  { trace: 2, id: 13, parent: 12, name: 'Txn', start: 1 },
  { trace: 2, id: 12, parent: 11, name: 'Create', start: 1, attributes: { 'audit-id': auditId } },
  {
    ...{ trace: 2, id: 11, name: 'POST', start: 1, ...said },
    attributes: { 'http.request.method': 'POST', 'audit-id': auditId, ...said.attributes },
  },
]

export const drawn = (writer: TestWriter, trace = traceOf(CHANGE)): string => drawTrace(writer.sent(), trace)
export const inPlace = (writer: TestWriter, trace = 2): string[] =>
  writer
    .sent()
    .filter(({ traceId }) => traceId === hexTrace(trace))
    .map(({ name }) => name)

export const BELOW_THE_WRITE = `change @kubectl
  write @kubectl
    POST @apiserver
      Create @apiserver
        Txn @apiserver`
