import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { cpSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { terraformVariables } from '../../packages/kubectl/terraform-variables.ts'
import { KubectlScene } from './support/kubectl-scene.ts'

const OURS = '/ours/config'
const LED = { KUBE_CONFIG_PATH: undefined, KUBE_CONFIG_PATHS: OURS }
const ELSEWHERE = {}

test.each([
  ['where nothing names one', {}, {}, LED],
  ['named as kubectl names it', { KUBECONFIG: '/a/config', KUBE_CONFIG_PATH: '/a/../a/config' }, {}, LED],
  ['which is the usual one', { KUBE_CONFIG_PATH: '~/.kube/config' }, {}, LED],
  [
    'of the same files',
    { KUBECONFIG: `/a${delimiter}/b`, KUBE_CONFIG_PATHS: `/a${delimiter}/b` },
    { context: 'test' },
    LED,
  ],
  ['and the chosen context', { KUBE_CTX: 'test' }, {}, LED],
  ['of another file', { KUBECONFIG: '/a', KUBE_CONFIG_PATH: '/b' }, {}, ELSEWHERE],
  ['of other files', { KUBECONFIG: '/a', KUBE_CONFIG_PATHS: `/a${delimiter}/b` }, {}, ELSEWHERE],
  ['of another context', { KUBE_CTX: 'production' }, {}, ELSEWHERE],
  ['though another is named', { KUBE_CONFIG_PATH: '/b' }, { kubeconfig: '/a' }, LED],
  [
    'of another context than that of the file',
    { KUBE_CTX: 'production' },
    { kubeconfig: join(homedir(), 'a') },
    ELSEWHERE,
  ],
  ['in the context named', { KUBE_CTX: 'production' }, { context: 'test' }, { ...LED, KUBE_CTX: 'test' }],
])('Terraform is led through a kubeconfig %s, or is left as it is', (_, env, named, expected) => {
  expect(terraformVariables(env, named, { path: OURS, context: 'test' })).toEqual(expected)
})

const PRINT = [
  '-e',
  'console.log(JSON.stringify([process.env.KUBE_CONFIG_PATH, process.env.KUBE_CONFIG_PATHS]))',
]

test('a kubeconfig that is only for Terraform stays what it uses, and a line says how to lead it', async () => {
  await using scene = await KubectlScene.open()
  const other = join(scene.directory, 'of-terraform')
  await using program = scene.startCommand(['run', '--', process.execPath, ...PRINT], [], {
    ...{ KUBE_CONFIG_PATH: other, KUBE_CONFIG_PATHS: '', KUBE_CTX: '' },
  })
  expect(JSON.parse(await program.output())).toEqual([other, ''])
  expect(program.errors).toContain('KUBE_CONFIG_PATH')
  expect(program.errors).toContain('give that to causeway run --kubeconfig')
})

test('where there is no other kubeconfig, it is the one of Terraform', async () => {
  await using scene = await KubectlScene.open()
  const only = join(scene.directory, 'of-terraform')
  cpSync(join(scene.directory, 'config'), only)
  await using program = scene.startCommand(['run', '--', process.execPath, ...PRINT], [], {
    ...{
      KUBECONFIG: join(scene.directory, 'none'),
      KUBE_CONFIG_PATH: only,
      KUBE_CONFIG_PATHS: '',
      KUBE_CTX: 'test',
    },
  })
  const [one, several] = JSON.parse(await program.output()) as (string | null)[]
  expect(one).toBeNull()
  expect(several).toMatch(/causeway-kubectl-.*config$/)
})
