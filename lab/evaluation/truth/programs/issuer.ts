// Makes a Secret for each Authority, and one from that for each Leaf that names the Authority. Copies of a Leaf's Secret go into the
// namespaces that it lists: a label tells whose they are.
import { hash } from 'node:crypto'
import { all, apiAs, at, labelled, list, looksAgain, maybe, type Named, ownedBy } from './looks-again.ts'

interface Issued extends Named {
  readonly status?: { readonly serial: string }
}
interface Authority extends Issued {
  readonly spec: { readonly rotation: number }
}
interface Leaf extends Issued {
  readonly spec: {
    readonly issuerRef: { readonly name: string }
    readonly secretName: string
    readonly host: string
    readonly copyTo?: readonly string[]
  }
}
interface Secret extends Named {
  readonly data: { readonly v: string }
}

const API_VERSION = 'pki.example.com/v1'
const COPY_OF = 'pki.example.com/copy-of'

const api = apiAs('leaf-issuer')
const [AUTHORITIES, LEAVES, SECRETS] = [
  all(API_VERSION, 'authorities'),
  all(API_VERSION, 'leafs'),
  all('v1', 'secrets'),
]

async function put(namespace: string, name: string, value: string, more: object): Promise<void> {
  const secrets = at('v1', namespace, 'secrets')
  const data = { v: Buffer.from(value).toString('base64') }
  const there = await maybe<Secret>(api, `${secrets}/${name}`)
  if (there === undefined) await api.create(secrets, { metadata: { name, ...more }, data })
  else if (there.data.v !== data.v) await api.replace(`${secrets}/${name}`, { ...there, data })
}

async function tell({ metadata, status }: Issued, resource: string, serial: string): Promise<void> {
  const { namespace, name } = metadata
  if (status?.serial !== serial)
    await api.patch(at(API_VERSION, namespace, resource, name, 'status'), { status: { serial } })
}

async function issueAuthority(authority: Authority): Promise<void> {
  const { namespace, name } = authority.metadata
  const value = hash('sha256', `${namespace}/${name}/${authority.spec.rotation}`)
  const ownerReferences = ownedBy(API_VERSION, 'Authority', authority)
  await put(namespace, `${name}-ca`, value, { ownerReferences })
  await tell(authority, 'authorities', value)
}

/** Answers with where copies of its Secret are. */
async function issueLeaf(leaf: Leaf): Promise<string[]> {
  const { namespace, name } = leaf.metadata
  const { issuerRef, secretName, host, copyTo = [] } = leaf.spec
  const authority = await maybe<Secret>(api, at('v1', namespace, 'secrets', `${issuerRef.name}-ca`))
  if (authority === undefined) return []
  const value = hash('sha256', `${authority.data.v} ${host}`)
  await put(namespace, secretName, value, { ownerReferences: ownedBy(API_VERSION, 'Leaf', leaf) })
  for (const to of copyTo) await put(to, secretName, value, { labels: { [COPY_OF]: `${namespace}.${name}` } })
  await tell(leaf, 'leafs', value)
  return copyTo.map((to) => `${to}/${secretName}`)
}

async function look(): Promise<void> {
  for (const authority of await list<Authority>(api, AUTHORITIES)) await issueAuthority(authority)
  const wanted = new Set<string>()
  for (const leaf of await list<Leaf>(api, LEAVES)) for (const copy of await issueLeaf(leaf)) wanted.add(copy)
  for (const { metadata } of await list<Secret>(api, SECRETS, labelled(COPY_OF)))
    if (!wanted.has(`${metadata.namespace}/${metadata.name}`))
      await api.delete(at('v1', metadata.namespace, 'secrets', metadata.name))
}

looksAgain(api, [AUTHORITIES, LEAVES, SECRETS], look)
