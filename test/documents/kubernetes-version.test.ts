import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { CLUSTER_PEERS, peerVersions } from '../../lab/peers/peer-versions.ts'

const page = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8')
const OF_KUBERNETES = CLUSTER_PEERS.filter((name) => name.startsWith('kube'))

test('docs/kubernetes.md says with which Kubernetes Causeway is tested', () => {
  const named = [...page.matchAll(/Kubernetes (v?\d[\d.]*\d)/g)].map(([, version]) => version)
  expect(named).toEqual([peerVersions['kube-apiserver']])
  for (const name of OF_KUBERNETES) expect([name, peerVersions[name]]).toEqual([name, named[0]])
})
