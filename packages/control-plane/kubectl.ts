import type { ApiClient, Location } from './api/api-client.ts'
import { isRefusal } from './api/api-error.ts'
import type { Draft, Resource, Resources } from './api/kube-objects.ts'
import type { Clock } from './clock.ts'
import type { DoWork } from './runtime/work.ts'

const TRIES = 10
const PAUSE_MS = 10

/** What an operator does; each command is a change of its own, whose CPID comes back when kubectl is instrumented. */
export class Kubectl {
  readonly #client: ApiClient
  readonly #doWork: DoWork
  readonly #clock: Clock

  constructor(client: ApiClient, doWork: DoWork, clock: Clock) {
    this.#client = client
    this.#doWork = doWork
    this.#clock = clock
  }

  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]> {
    return this.#doWork(`kubectl create ${draft.kind}`, async (work) => {
      work.begin('kubectl create', draft)
      return work.create(resource, draft)
    })
  }

  /** Changes what `edit` changes, again and again until nobody else wrote meanwhile. */
  edit<R extends Resource>(
    resource: R,
    at: Location,
    edit: (object: Resources[R]) => Resources[R],
    verb = 'edit',
  ): Promise<Resources[R]> {
    return this.#again(async () => {
      const object = await this.#client.get(resource, at)
      return this.#doWork(`kubectl ${verb} ${object.kind}`, async (work) => {
        work.observe(object)
        work.begin(`kubectl ${verb}`, object)
        return work.update(resource, edit(object))
      })
    })
  }

  scale(at: Location, replicas: number): Promise<Resources['apps/v1/deployments']> {
    const scaled = (deployment: Resources['apps/v1/deployments']) => {
      return { ...deployment, spec: { ...deployment.spec, replicas } }
    }
    return this.edit('apps/v1/deployments', at, scaled, 'scale')
  }

  setImage(at: Location, image: string): Promise<Resources['apps/v1/deployments']> {
    return this.edit(
      'apps/v1/deployments',
      at,
      ({ spec, ...rest }) => {
        const containers = spec.template.spec.containers.map((container) => ({ ...container, image }))
        return { ...rest, spec: { ...spec, template: { ...spec.template, spec: { containers } } } }
      },
      'set image',
    )
  }

  async delete(resource: Resource, at: Location): Promise<void> {
    await this.#again(async () => {
      const object = await this.#client.get(resource, at)
      await this.#doWork(`kubectl delete ${object.kind}`, async (work) => {
        work.observe(object)
        work.begin('kubectl delete', object)
        await work.delete(resource, object)
      })
    })
  }

  async #again<T>(command: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await command()
      } catch (error) {
        if (tries === TRIES || !isRefusal(error, 'Conflict')) throw error
        await this.#clock.sleep(PAUSE_MS)
      }
    }
  }
}
