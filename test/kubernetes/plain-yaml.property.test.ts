import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { parse, stringify } from 'yaml'
import { parsePlainYaml } from '../../src/kubernetes/plain-yaml.ts'

const RUNS = { numRuns: 500 }

/** As kind, kubeadm and cloud providers write them. */
const KUBECONFIG = `# made by a program
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
    server: https://127.0.0.1:6443
  name: kind-kind

- name: arn:aws:eks:eu-west-1:123456789012:cluster/shop
  cluster:
    insecure-skip-tls-verify: true
    server: "https://shop.example.com/k8s"
contexts:
- context:
    cluster: kind-kind
    user: kind-kind
  name: kind-kind
current-context: kind-kind
kind: Config
preferences: {}
users:
- name: kind-kind
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - --region
      - eu-west-1
      - eks get-token
      command: aws
      env: null
      installHint: ''
      interactiveMode: IfAvailable
      provideClusterInfo: false
- name: robot
  user:
    token: 13978dfc-a845-4cae-bf5b-aadc0764b004
`

const key = fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,8}$/)
const text = fc.oneof(
  fc.string(),
  fc.stringMatching(/^\d[-+.\d_a-foxE]{0,6}$/),
  fc.stringMatching(/^[A-Za-z\d][A-Za-z\d/:=.-]{0,20}$/),
  fc.base64String(),
)
const { content } = fc.letrec<{ content: unknown }>((tie) => ({
  content: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(text, text, fc.boolean(), fc.constant(null), fc.integer(), fc.double({ noNaN: true })),
    fc.dictionary(key, tie('content'), { maxKeys: 4 }),
    fc.array(tie('content'), { maxLength: 3 }),
  ),
}))

/** What the reader of YAML makes of it; undefined where it refuses. */
function parsed(yaml: string): unknown {
  try {
    return parse(yaml, { logLevel: 'silent' })
  } catch {
    return undefined
  }
}

test('a kubeconfig as programs write it is plain', () => {
  const plain = parsePlainYaml(KUBECONFIG)
  expect(plain).toBeDefined()
  expect(plain).toEqual(parse(KUBECONFIG))
})

test('maps, lists and simple values are plain', () => {
  const simple = fc.stringMatching(/^[a-z]{1,9}$/).map((word) => `x-${word}`)
  const map = fc.dictionary(
    key.map((name) => `k-${name}`),
    fc.oneof(simple, fc.boolean(), fc.array(simple)),
    {
      minKeys: 1,
    },
  )
  fc.assert(
    fc.property(fc.record({ one: map, many: fc.array(map, { minLength: 1 }) }), (value) => {
      expect(parsePlainYaml(stringify(value, { lineWidth: 0 }))).toEqual(value)
    }),
    RUNS,
  )
})

test('whatever is read as plain YAML is what YAML says', () => {
  fc.assert(
    fc.property(content, fc.boolean(), (value, indentSeq) => {
      const yaml = stringify(value, { indentSeq })
      const plain = parsePlainYaml(yaml)
      if (plain !== undefined) expect(plain).toEqual(parsed(yaml))
    }),
    { numRuns: 2_000 },
  )
})

test('what is changed anywhere in a kubeconfig is read as YAML reads it, or not as plain', () => {
  const pieces = [
    ...[
      '{',
      '}',
      '[',
      ']',
      '&',
      '*',
      '!',
      '|',
      '>',
      '%',
      '@',
      '?',
      ',',
      '~',
      '.',
      '+',
      '-',
      ':',
      '#',
      "'",
      '"',
    ],
    ...[
      ' ',
      '  ',
      '- ',
      ': ',
      ' #',
      '\n',
      '\r\n',
      '\t',
      '0',
      '1',
      '9',
      'e',
      'E',
      'x',
      'o',
      'true',
      'null',
      '---',
      'é',
    ],
  ]
  const change = fc.record({
    at: fc.nat(KUBECONFIG.length),
    removed: fc.nat(12),
    added: fc.array(fc.constantFrom(...pieces), { maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let yaml = KUBECONFIG
      for (const { at, removed, added } of changes)
        yaml = yaml.slice(0, at) + added.join('') + yaml.slice(at + removed)
      const plain = parsePlainYaml(yaml)
      if (plain !== undefined) expect(plain).toEqual(parsed(yaml))
    }),
    { numRuns: 3_000 },
  )
})

test('lines put together by chance are read as YAML reads them, or not as plain', () => {
  const line = fc
    .tuple(
      fc.nat(3),
      fc.constantFrom('', '- ', '- - '),
      fc.constantFrom('a:', 'b: x', 'c', 'd: - x', 'e: f: g', 'h: 1', '', '"i"', 'j: null', 'b: {}', '# k'),
    )
    .map(([indent, dash, rest]) => `${' '.repeat(indent)}${dash}${rest}`)
  fc.assert(
    fc.property(fc.array(line, { maxLength: 7 }), (lines) => {
      const yaml = lines.join('\n')
      const plain = parsePlainYaml(yaml)
      if (plain !== undefined) expect(plain).toEqual(parsed(yaml))
    }),
    { numRuns: 5_000 },
  )
})
