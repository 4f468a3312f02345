import { ok, strictEqual } from 'node:assert/strict'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { hashSync } from 'bcryptjs'
import {
  CpidPropagator,
  getTraceContext,
  linkFromTraceparent,
  parseCpidFromLine,
} from '../../../packages/instrumentation/src/index.ts'
import {
  ANNOTATION_KEYS,
  readAnnotations,
} from '../../../packages/instrumentation/src/objects/object-annotations.ts'
import { ConfigError } from '../../../src/config/schema.ts'
import { kindOfObject, parseObjectReference } from '../../../src/model/kubernetes-objects.ts'
import { parseCpid } from '../../../src/model/merge-graph.ts'
import { parseRfc3339, rfc3339 } from '../../../src/model/time-and-size.ts'
import { openBasicAuthenticator, readHtpasswd } from '../../../src/platform/basic-auth.ts'
import { openBearerAuthenticator } from '../../../src/platform/credentials.ts'
import { readTraceRequest } from '../../../src/query/http/query-server.ts'
import { FAILURES, readEtags } from '../../../src/query/http/replies.ts'
import { readRequest } from '../../../src/query/http/routes.ts'
import { decodeCursor, encodeCursor } from '../../../src/query/list-json.ts'
import { readTraceQl } from '../../../src/query/traceql/parse-traceql.ts'
import { TraceQlError } from '../../../src/query/traceql/syntax.ts'
import { loadText, SMALLEST, WITH_EXPORTER } from '../../config/load-text.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { onlyThrows } from '../only-throws.ts'
import type { Target } from '../target.ts'

const texts =
  (...all: string[]) =>
  (): Buffer[] =>
    all.map((text) => Buffer.from(text))

export const config: Target = {
  name: 'config',
  shape: 'text',
  words: [
    '${env:LOOP}',
    '${env:YAML}',
    '${file:0}',
    '$$',
    '&a ',
    '*a',
    '<<: ',
    '!!binary ',
    '::',
    '__proto__',
    '\t',
    '.inf',
    '? ',
  ],
  seeds: texts(
    SMALLEST,
    WITH_EXPORTER,
    'connectors::cpid::linking::wait=5s',
    'a: &a [1, *a]',
    '{"service": {}}',
  ),
  run(input) {
    const text = input.toString()
    const env = { LOOP: '${env:LOOP}', YAML: text, TWICE: '${env:YAML}${env:YAML}' }
    const isMistake = (error: unknown): boolean => error instanceof ConfigError
    onlyThrows(isMistake, () => loadText(text, { env }))
    onlyThrows(isMistake, () => loadText([SMALLEST, text], { env }))
    onlyThrows(isMistake, () =>
      loadText(SMALLEST, { env, sets: [text, `connectors.cpid.storage.path=${text}`] }),
    )
  },
}

export const apiRequests: Target = {
  name: 'api-requests',
  shape: 'text',
  words: [
    '%',
    '%00',
    '%ff',
    '../',
    '//',
    '?',
    '&',
    'limit=',
    'after=',
    '-9223372036854775809',
    '{',
    '}',
    '=~',
    '"',
    '9'.repeat(30),
  ],
  seeds: texts(
    `/api/v1/cpids/${cpid(1)}/spans?limit=10&after=1.2.3.4`,
    '/api/v1/cascades?state=open&from=2026-01-31T08:00:00Z&to=2026-01-31T08:00:00.123456789%2B01:00&object=web',
    `/api/v1/cascades/${cpid(1)}/spans/0011223344556677?trace=${'ab'.repeat(16)}`,
    '/api/v1/objects?ref=apps/v1/deployments/default/web',
    '/api/traces?service=a&operation=b&tags={"x":"y"}&minDuration=1ms&limit=20&start=1&end=2',
    '/api/v3/traces?query.service_name=a&query.start_time_min=2026-01-31T08:00:00Z',
    '/api/search?q={ resource.service.name = "a" && duration > 1ms || name =~ "x.*" }&start=1&end=2',
    '/api/v2/search/tag/resource.service.name/values?q={ name = "a" }&limit=5',
    '/tempo/api/search?tags=service.name=web note="two words"&minDuration=1.5s&spss=0&start=1&end=2',
    '/jaeger/api/v3/trace-summaries?query.attributes={"a":"b"}&query.startTimeMin=2026-01-31T08:00:00Z&query.durationMax=1m0.5s',
  ),
  run(input) {
    const target = input.toString('latin1')
    const read = readRequest(target)
    if (read.kind === 'failure') ok(read.failure in FAILURES)
    for (const accept of [undefined, 'application/protobuf']) readTraceRequest(target, accept, 0)
    for (const etag of readEtags(target)) ok(etag.length <= target.length)
  },
}

export const queryTexts: Target = {
  name: 'query-texts',
  shape: 'text',
  words: ['-', '.', '9223372036854775808', 'Z', '+99:99', '{', '&&', '||', '=~', '!', '"', '\\', '('],
  seeds: texts(
    '1.-2.3',
    '2026-01-31T08:00:00.5Z',
    '{ name =~ "a(b|c)*" && (span.http.status_code >= 500 || status = error) }',
    cpid(1),
    'apps/v1/deployments/default/web?uid=5f&rv=12',
  ),
  run(input) {
    const text = input.toString()
    for (const parts of [1, 2, 3, 4]) {
      const position = decodeCursor(text, parts)
      if (position !== undefined)
        strictEqual(decodeCursor(encodeCursor(position), parts)?.join(), position.join())
    }
    const time = parseRfc3339(text)
    if (time !== undefined) strictEqual(parseRfc3339(rfc3339(time)), time)
    onlyThrows(
      (error) => error instanceof TraceQlError,
      () => readTraceQl(text),
    )
    const read = parseCpid(text)
    if (read !== undefined) strictEqual(parseCpid(read), read)
    parseObjectReference(text)
    kindOfObject(text)
  },
}

export const instrumentation: Target = {
  name: 'instrumentation',
  shape: 'text',
  words: [',', ' ', '-', '"cpid":', 'cpid=', '{', '}', '\\"', cpid(2), '00-'],
  seeds: texts(
    `${cpid(1)},${cpid(2)},${cpid(3)}`,
    `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
    `I0101 controller.go:10] "synced" cpid="${cpid(1)}" n=1`,
    `2026-01-01 INFO done {"cpid":"${cpid(1)}","x":{}}`,
  ),
  run(input) {
    const text = input.toString()
    const annotations = { [ANNOTATION_KEYS.cpid]: cpid(1), [ANNOTATION_KEYS.ancestors]: text }
    const read = readAnnotations({ metadata: { annotations } }, ANNOTATION_KEYS, 10)
    ok(
      read !== undefined &&
        read.ancestors.length <= 10 &&
        read.ancestors.every((one) => parseCpid(one) === one),
    )
    readAnnotations({ metadata: { annotations: { [ANNOTATION_KEYS.cpid]: text } } }, ANNOTATION_KEYS, 10)
    linkFromTraceparent({ metadata: { annotations: { 'tracing.k8s.io/traceparent': text } } })
    const found = parseCpidFromLine(text)
    if (found !== undefined) strictEqual(parseCpid(found), found)
    const getter = { get: () => text, keys: () => ['cpid'] }
    const extracted = getTraceContext(new CpidPropagator().extract(ROOT_CONTEXT, {}, getter))
    if (extracted !== undefined) strictEqual(parseCpid(extracted.cpid), extracted.cpid)
  },
}

const SECRETS = { reloadIntervalMs: 0, onTrouble: () => undefined }
const HASH = hashSync('secret', 4)

export const credentials: Target = {
  name: 'credentials',
  shape: 'text',
  words: ['Basic ', 'basic', 'Bearer ', ':', '=', '\0', '$2y$10$'],
  seeds: texts('Bearer token', `Basic ${btoa('ann:secret')}`, `ann:${HASH}\nbob:plain`),
  async run(input) {
    const header = input.toString('latin1')
    using tokens = openBearerAuthenticator({
      id: 'b',
      header: 'authorization',
      scheme: 'Bearer',
      tokens: ['token'],
      ...SECRETS,
    })
    strictEqual(
      (await tokens.check(header)).kind === 'known',
      /^bearer token$/i.test(header) && header.endsWith('token'),
    )
    using logins = openBasicAuthenticator({ id: 'a', inline: 'bob:plain', ...SECRETS })
    const checked = await logins.check(header)
    if (checked.kind === 'known') strictEqual(checked.sender.username, 'bob')
    readHtpasswd(input.toString())
  },
}
