// Writes the discount that a Discount gives into the specification of each Shop that it selects by a label. Another program looks after
// the Shops. It knows nothing of changes, and finds its cluster by KUBECONFIG.
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'

const API_VERSION = 'trade.example.com/v1'

interface Named {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels?: Readonly<Record<string, string>>
    readonly generation: number
  }
}
interface Discount extends Named {
  readonly spec: { readonly tier: string; readonly percent: number }
  readonly status?: { readonly shops: number }
}
interface Shop extends Named {
  readonly spec: { readonly discount?: number }
}

const api = apiOfKubeconfig(
  process.env['KUBECONFIG'] ?? '',
  'discount-operator/v0.0.0 (linux/amd64) kubernetes/$Format',
)

async function reconcile(namespace: string): Promise<void> {
  const path = `/apis/${API_VERSION}/namespaces/${namespace}`
  const { items: discounts } = await api.get<{ items: Discount[] }>(`${path}/discounts`)
  const { items: shops } = await api.get<{ items: Shop[] }>(`${path}/shops`)
  const fits = ({ spec }: Discount, { metadata }: Shop): boolean => metadata.labels?.['tier'] === spec.tier
  for (const shop of shops) {
    const percent = Math.max(0, ...discounts.filter((one) => fits(one, shop)).map(({ spec }) => spec.percent))
    if ((shop.spec.discount ?? 0) !== percent)
      await api.patch(`${path}/shops/${shop.metadata.name}`, { spec: { discount: percent } })
  }
  for (const discount of discounts) {
    const count = shops.filter((shop) => fits(discount, shop)).length
    if (discount.status?.shops !== count)
      await api.patch(`${path}/discounts/${discount.metadata.name}/status`, { status: { shops: count } })
  }
}

let last: Promise<void> = Promise.resolve()
const told = ({ object }: { object: object }): void => {
  const { metadata } = object as Named
  last = last.then(() => reconcile(metadata.namespace)).catch(() => undefined)
}
const forever = new AbortController().signal
for (const resource of ['discounts', 'shops'])
  void api.watch(`/apis/${API_VERSION}/${resource}?watch=true`, told, forever)
