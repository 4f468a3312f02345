import type { ApiClient } from '../api/api-client.ts'
import { deleteOptions, type DoWork, type Work } from './work.ts'

/** The work of a controller that nobody instrumented: annotations stay as they are, and nothing is told. */
export function plainWork(client: ApiClient): DoWork {
  const work: Work = {
    begin: () => undefined,
    observe: () => undefined,
    create: (resource, draft) => client.create(resource, draft),
    update: (resource, object) => client.update(resource, object),
    updateStatus: (resource, object) => client.updateStatus(resource, object),
    delete: (resource, object, gracePeriodSeconds) =>
      client.delete(resource, object.metadata, deleteOptions(object, gracePeriodSeconds)),
    step: (_name, play) => play(),
  }
  return (_name, play) => play(work)
}
