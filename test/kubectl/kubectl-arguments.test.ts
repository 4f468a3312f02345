import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { mayWrite, readKubectlArguments } from '../../src/kubectl/kubectl-arguments.ts'
import { publicArguments } from '../../src/kubectl/public-arguments.ts'
import { writeTarget } from '../../src/kubectl/write-target.ts'

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
