import { FINISHES } from '../../../../lab/harness/kubernetes/kwok-stages.ts'
import { template } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { sorted, type Story } from '../support/story.ts'

const once = (app: string): object => ({
  ...template(app, { restartPolicy: 'Never' }),
  metadata: { labels: { app }, annotations: { [FINISHES]: 'yes' } },
})

async function play(stage: Stage): Promise<void> {
  const batch = (rest: string): string => stage.path('/apis/batch/v1', rest)
  const spec = { completions: 2, parallelism: 2, template: once('import') }
  await stage.apply('alice', { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'import' }, spec })
  await stage.statusIs(batch('jobs/import'), { succeeded: 2 })
  await stage.apply('alice', {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'nightly' },
    spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: once('nightly') } } },
  })
  await stage.kubectl('bob', 'create', 'job', 'by-hand', '--from=cronjob/nightly')
  await stage.statusIs(batch('jobs/by-hand'), { succeeded: 1 })
  await stage.until(async () => {
    const { status } = await stage.api.get<{ status: { lastSuccessfulTime?: string } }>(
      batch('cronjobs/nightly'),
    )
    return status.lastSuccessfulTime !== undefined
  }, 'the CronJob says that a Job of it succeeded')
  const scheduled = { spec: { schedule: soon(), timeZone: 'Etc/UTC' } }
  await stage.kubectl('alice', 'patch', 'cronjob/nightly', '--patch', JSON.stringify(scheduled))
  await stage.until(async () => {
    interface Jobs {
      items: { metadata: { name: string }; status?: { succeeded?: number } }[]
    }
    const { items } = await stage.api.get<Jobs>(batch('jobs'))
    return items.some(({ metadata, status }) => /^nightly-/.test(metadata.name) && status?.succeeded === 1)
  }, 'the CronJob has run a Job')
}

const MINUTE_MS = 60_000

/** Once: in the next minute that is not about to begin. */
function soon(): string {
  const at = new Date(Date.now() + MINUTE_MS + 5_000)
  return `${at.getUTCMinutes()} ${at.getUTCHours()} ${at.getUTCDate()} ${at.getUTCMonth() + 1} *`
}

const SERVICES = ['job-controller', 'kube-scheduler', 'kubectl', 'kubelet']

const BELOW = { 'create pods': ['create jobs'], 'bind pods': ['create pods'] }

export const jobAndCronJob: Story = {
  name: 'jobs',
  play,
  cascades: [
    {
      began: 'create jobs/import',
      by: 'alice',
      services: SERVICES,
      objects: { jobs: 1, pods: 2 },
      below: BELOW,
    },
    { began: 'create cronjobs/nightly', by: 'alice', services: ['kubectl'], objects: { cronjobs: 1 } },
    {
      began: 'create jobs/by-hand',
      by: 'bob',
      services: sorted('cronjob-controller', ...SERVICES),
      objects: { cronjobs: 1, jobs: 1, pods: 1 },
      below: BELOW,
    },
    { began: 'change cronjobs/nightly', by: 'alice', services: ['kubectl'], objects: { cronjobs: 1 } },
    {
      began: 'by itself: create jobs/nightly-…',
      services: sorted('cronjob-controller', 'job-controller', 'kube-scheduler', 'kubelet'),
      objects: { cronjobs: 1, jobs: 1, pods: 1 },
      below: BELOW,
    },
  ],
  roots: { pods: [['by itself: create jobs/nightly-…'], ['create jobs/by-hand'], ['create jobs/import']] },
}
