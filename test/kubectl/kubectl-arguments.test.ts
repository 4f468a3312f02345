import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isDryRun } from '../../packages/kubectl/change-proxy.ts'
import { mayWrite, readKubectlArguments } from '../../packages/kubectl/kubectl-arguments.ts'
import { publicArguments } from '../../packages/kubectl/public-arguments.ts'
import { writeTarget } from '../../packages/kubectl/write-target.ts'

describe('the arguments of kubectl', () => {
  test('are taken apart: how to connect, the command, all others in their order', () => {
    const args =
      '--context=prod -n shop apply --kubeconfig /k -f web.yaml -s https://a:1 --insecure-skip-tls-verify --token t'
    expect(readKubectlArguments(args.split(' '))).toEqual({
      verb: 'apply',
      connection: {
        context: 'prod',
        kubeconfig: '/k',
        server: 'https://a:1',
        'insecure-skip-tls-verify': 'true',
        token: 't',
      },
      others: ['-n', 'shop', 'apply', '-f', 'web.yaml'],
    })
  })

  test.each([
    'create clusterrolebinding admin --clusterrole=admin --user=bob',
    'create -n shop rolebinding admin --clusterrole=admin --user bob',
    'create -o yaml clusterrolebinding admin --clusterrole=admin --user=bob',
    'create --clusterrole admin --output name rolebinding admin --user bob',
    'set subject rolebinding admin --user=bob',
  ])('of %s name a subject, and not who asks', (line) => {
    const args = line.split(' ')
    expect(readKubectlArguments([...args, '--context', 'c'])).toMatchObject({
      connection: { context: 'c' },
      others: args,
    })
    const asked = readKubectlArguments(['create', 'deployment', 'rolebinding', '--user', 'bob'])
    expect(asked).toEqual({ verb: 'create', connection: { user: 'bob' }, others: expect.any(Array) })
  })

  test('behind -- are those of somebody else', () => {
    const args = ['run', 'web', '--', '--context', 'prod']
    expect(readKubectlArguments(args)).toEqual({ verb: 'run', connection: {}, others: args })
  })

  test.each([
    'apply',
    'patch',
    'scale',
    'set',
    'delete',
    'rollout',
    'create',
    'replace',
    'edit',
    'label',
    'a-plugin',
    'auth',
  ])('%s may write', (verb) => expect(mayWrite(verb)).toBe(true))

  test.each(['', 'get', 'logs', 'exec', 'config', 'port-forward'])('"%s" does not', (verb) =>
    expect(mayWrite(verb)).toBe(false),
  )
})

describe('what everybody may read of them', () => {
  test.each([
    ['apply -f web.yaml -n shop --server-side', undefined],
    ['set image deployment/web main=nginx:2', undefined],
    ['label pod web tier=front', undefined],
    ['scale deployment/web --replicas=3', undefined],
    ['set env deployment/web PASSWORD=x', 'set env deployment/web PASSWORD=***'],
    ['create secret generic s --from-literal=a=x', 'create secret generic s --from-literal=***'],
    ['create secret generic s --from-literal a=x', 'create secret generic s --from-literal ***'],
    ['patch secret s -p {"stringData":{"a":"x"}}', 'patch secret s -p ***'],
    ['patch secret s -p{"stringData":{"a":"x"}}', 'patch secret s -p***'],
    ['apply --token x -f a', 'apply --token *** -f a'],
    ['run web --image=a -- sh -c x', 'run web --image=a -- ***'],
    ['apply -f https://me:x@host/a?token=x', 'apply -f https://host/a'],
    ['-n shop my-plugin login me x --name=x -f x', '-n shop my-plugin *** *** *** --name=*** -f ***'],
    ['delete --wait pod web', undefined],
    ['annotate pod web key=x', 'annotate pod web key=***'],
  ])('%s', (args, shown = args) => {
    expect(publicArguments(args.split(' ')).join(' ')).toBe(shown)
  })

  test('holds no value of an option that is not known', () => {
    const name = fc.stringMatching(/^--x[a-z-]{0,9}$/)
    const args = fc.array(
      fc.oneof(
        name.map((option) => [`${option}=SECRET`]),
        name.map((option) => [option, 'SECRET']),
        fc.constantFrom(['-f', 'a.yaml'], ['--all'], ['KEY=SECRET'], ['-pSECRET']),
      ),
    )
    fc.assert(
      fc.property(args, (parts) => {
        expect(publicArguments(['create', ...parts.flat(), '--', 'SECRET']).join(' ')).not.toContain('SECRET')
      }),
    )
  })
})

describe('a dry run', () => {
  const target = (subresource: string) => ({
    ...writeTarget('PUT', '/api/v1/namespaces/a/pods/b')!,
    subresource,
  })
  const json = (content: object) => Buffer.from(JSON.stringify(content))
  /** A field of bytes of a message. */
  const field = (number: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content])
  const protobuf = (raw: Buffer) =>
    Buffer.concat([Buffer.from('k8s\0'), field(1, Buffer.from('v1')), field(2, raw)])
  const all = field(5, Buffer.from('All'))
  const orphan = field(4, Buffer.from('Orphan'))

  test.each([
    ['DELETE', '', json({ dryRun: ['All'] })],
    ['DELETE', '', protobuf(Buffer.concat([orphan, all]))],
    ['POST', 'eviction', json({ deleteOptions: { dryRun: ['All'] } })],
    ['POST', 'eviction', protobuf(field(2, Buffer.concat([orphan, all])))],
  ])('is said in the body: %s %s', (method, subresource, body) =>
    expect(isDryRun(method, target(subresource), body)).toBe(true),
  )

  test.each([
    ['DELETE', '', json({ dryRun: [] })],
    ['DELETE', '', Buffer.alloc(0)],
    ['DELETE', '', protobuf(orphan)],
    ['DELETE', '', Buffer.from('k8s\0\x12\x7f')],
    ['POST', 'eviction', json({ dryRun: ['All'] })],
    ['POST', 'eviction', protobuf(field(1, all))],
    ['PUT', '', json({ dryRun: ['All'] })],
  ])('is not: %s %s %s', (method, subresource, body) =>
    expect(isDryRun(method, target(subresource), body)).toBe(false),
  )
})

describe('a request is for', () => {
  const inShop = { namespace: 'shop', name: 'web', subresource: '' }
  test.each([
    [
      'POST',
      '/api/v1/namespaces/shop/services',
      { apiVersion: 'v1', resource: 'services', ...inShop, name: '', path: '' },
    ],
    [
      'PATCH',
      '/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl',
      {
        apiVersion: 'apps/v1',
        resource: 'deployments',
        ...inShop,
        path: '/apis/apps/v1/namespaces/shop/deployments/web',
      },
    ],
    [
      'PUT',
      '/apis/apps/v1/namespaces/shop/deployments/web/scale',
      {
        ...{ apiVersion: 'apps/v1', resource: 'deployments', ...inShop, subresource: 'scale' },
        path: '/apis/apps/v1/namespaces/shop/deployments/web',
      },
    ],
    [
      'DELETE',
      '/api/v1/namespaces/shop',
      {
        apiVersion: 'v1',
        resource: 'namespaces',
        namespace: '',
        name: 'shop',
        subresource: '',
        path: '/api/v1/namespaces/shop',
      },
    ],
    [
      'PUT',
      '/api/v1/namespaces/shop/finalize',
      {
        ...{ apiVersion: 'v1', resource: 'namespaces', namespace: '', name: 'shop', subresource: 'finalize' },
        path: '/api/v1/namespaces/shop',
      },
    ],
    [
      'PATCH',
      '/api/v1/nodes/status/status',
      {
        apiVersion: 'v1',
        resource: 'nodes',
        namespace: '',
        name: 'status',
        subresource: 'status',
        path: '/api/v1/nodes/status',
      },
    ],
  ])('%s %s', (method, path, target) => expect(writeTarget(method, path)).toEqual(target))

  test.each([
    ['GET', '/api/v1/namespaces/shop/services/web'],
    ['POST', '/api/v1/namespaces/shop/services?dryRun=All'],
    ['DELETE', '/api/v1/namespaces/shop/pods'],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
    ['POST', '/api/v1/namespaces/shop/serviceaccounts/web/token'],
    ['POST', '/api/v1/namespaces/shop/pods/web/exec'],
    ['POST', '/api/v1/namespaces/shop/events'],
    ['PUT', '/api/v1/namespaces/shop/services/web/proxy/a/b'],
    ['POST', '/version'],
  ])('nothing that takes part: %s %s', (method, path) => expect(writeTarget(method, path)).toBeUndefined())
})
