// Binds each DiskClaim to a Disk that is large enough, and lets the Disk go when the claim has gone.
import { all, apiAs, at, list, looksAgain, type Named } from '../programs/looks-again.ts'

interface Disk extends Named {
  readonly spec: { readonly size: number; readonly claimRef?: { readonly uid: string } }
  readonly status?: { readonly phase?: string }
}
interface DiskClaim extends Named {
  readonly spec: { readonly size: number; readonly diskName?: string }
  readonly status?: { readonly phase?: string }
}

const API_VERSION = 'disks.example.com/v1'
const [DISKS, CLAIMS] = [all(API_VERSION, 'disks'), all(API_VERSION, 'diskclaims')]
const api = apiAs('disk-binder')

async function bind(
  { metadata: { namespace, name, uid }, spec, status }: DiskClaim,
  disks: Disk[],
): Promise<void> {
  const path = at(API_VERSION, namespace, 'diskclaims', name)
  const own = disks.find((disk) => disk.spec.claimRef?.uid === uid)
  const fitting = disks
    .filter((disk) => disk.spec.claimRef === undefined && disk.spec.size >= spec.size)
    .sort((one, other) => one.spec.size - other.spec.size)
  const disk = own ?? fitting[0]
  if (disk !== undefined && own === undefined) {
    await api.patch(`${DISKS}/${disk.metadata.name}`, { spec: { claimRef: { namespace, name, uid } } })
    await api.patch(`${DISKS}/${disk.metadata.name}/status`, { status: { phase: 'Bound' } })
  }
  const diskName = disk?.metadata.name
  if (diskName !== undefined && spec.diskName !== diskName) await api.patch(path, { spec: { diskName } })
  const phase = diskName === undefined ? 'Pending' : 'Bound'
  if (status?.phase !== phase) await api.patch(`${path}/status`, { status: { phase } })
}

looksAgain(api, [DISKS, CLAIMS], async () => {
  const claims = await list<DiskClaim>(api, CLAIMS)
  for (const { metadata, spec, status } of await list<Disk>(api, DISKS)) {
    const isLeft =
      spec.claimRef !== undefined && !claims.some((one) => one.metadata.uid === spec.claimRef?.uid)
    if (isLeft) await api.patch(`${DISKS}/${metadata.name}`, { spec: { claimRef: null } })
    const phase = isLeft || spec.claimRef === undefined ? 'Free' : 'Bound'
    if (status?.phase !== phase) await api.patch(`${DISKS}/${metadata.name}/status`, { status: { phase } })
  }
  for (const claim of claims) await bind(claim, await list<Disk>(api, DISKS))
})
