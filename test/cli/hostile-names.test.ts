import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { Cli } from './cli.ts'

/** Clears the screen, in seven and in eight bits, turns text round, and hides some of it. */
const HOSTILE = 'evil\u001b[2J\u009b2J\u202e\u{e0041}\r\u2028'
const COMMANDS = /[\p{Cc}\p{Cf}\u2028\u2029]/u
const ROOT = cpid(1)

const cli = new Cli()
afterAll(() => cli[Symbol.dispose]())

beforeAll(async () => {
  await cli.run('migrate')
  using writer = await TestWriter.open({}, cli.path)
  const object = `v1/pods/shop/web${HOSTILE}?uid=u&rv=1`
  writer.mergelogs(HOSTILE, [{ new: ROOT, object, reason: HOSTILE }], HOSTILE)
  const attributes = {
    'cpid.wrote': [object],
    'cpid.cause': 'operator',
    'cpid.actor': HOSTILE,
    [HOSTILE]: HOSTILE,
  }
  writer.spans(
    HOSTILE,
    [{ trace: 1, id: 1, cpid: ROOT, name: HOSTILE, statusMessage: HOSTILE, attributes }],
    HOSTILE,
  )
  writer.pass(301_000)
})

const ASKED = [
  ['cascades'],
  ['cascade', ROOT],
  ['mergelogs'],
  ['sql', 'SELECT * FROM audit_spans, audit_cascades'],
  ['doctor'],
]

test.each(ASKED.flatMap((argv) => [[argv], [[...argv, '--format', 'json']]]))(
  '%j prints nothing that commands a terminal',
  async (argv) => {
    const { stdout, stderr } = await cli.run(...argv)
    for (const line of `${stdout}${stderr}`.split('\n')) expect(line).not.toMatch(COMMANDS)
    if (argv[0] === 'doctor') return
    expect(stdout).toContain('evil')
    if (argv.includes('json'))
      expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(HOSTILE).slice(1, -1))
  },
)

test.each([[[]], [['--format', 'json']]])(
  'an error of an archive commands no terminal, with %j',
  async (options) => {
    await using archive = await startHttpBackend((response) =>
      response.writeHead(500).end(`Code: 60. DB::Exception: ${HOSTILE} (UNKNOWN_TABLE)`),
    )
    const asked = ['cascades', ...options, '--archive', `${new URL(archive.url).origin}/causeway`]
    for (const { stdout, stderr } of [await cli.runBare(...asked), await cli.run(...asked)]) {
      expect(`${stdout}${stderr}`).toContain('evil')
      for (const line of `${stdout}${stderr}`.split('\n')) expect(line).not.toMatch(COMMANDS)
    }
  },
)
