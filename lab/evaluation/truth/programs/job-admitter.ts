// Lets suspended Jobs with a label run, as many at once as the ConfigMap that the label names has slots. It has no custom resource.
import { all, apiAs, at, labelled, list, looksAgain, type Named } from './looks-again.ts'

interface Job extends Named {
  readonly spec: { readonly suspend?: boolean }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}
interface Queue extends Named {
  readonly data: { readonly slots: string }
}

const QUEUE = 'batch.example.com/queue'
const IS_QUEUE = 'batch.example.com/is-queue'

const api = apiAs('job-admitter')
const [JOBS, MAPS] = [all('batch/v1', 'jobs'), all('v1', 'configmaps')]

const isSuspended = ({ spec }: Job): boolean => spec.suspend === true
const isDone = ({ status }: Job): boolean =>
  status?.conditions?.some((one) => one.type === 'Complete' && one.status === 'True') === true

async function admit({ metadata: { namespace, name }, data }: Queue, jobs: readonly Job[]): Promise<void> {
  const own = jobs
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[QUEUE] === name)
    .sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
  const free = Number(data.slots) - own.filter((one) => !isSuspended(one) && !isDone(one)).length
  for (const { metadata } of own.filter(isSuspended).slice(0, Math.max(0, free)))
    await api.patch(at('batch/v1', namespace, 'jobs', metadata.name), { spec: { suspend: false } })
}

async function look(): Promise<void> {
  const jobs = await list<Job>(api, JOBS, labelled(QUEUE))
  for (const queue of await list<Queue>(api, MAPS, labelled(IS_QUEUE))) await admit(queue, jobs)
}

looksAgain(api, [JOBS, MAPS], look)
