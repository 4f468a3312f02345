import { attempt } from '../attempt.ts'
import type { Instrumentation } from '../instrumentation.ts'
import type { ClientInformer, ClientList, ClientObject, MakesInformers } from './client-types.ts'
import { requestTarget } from './request-target.ts'
import { fillIn, tracedInformer } from './traced-informer.ts'

type Make = (
  config: unknown,
  path: string,
  list: () => Promise<ClientList>,
  labelSelector?: string,
) => ClientInformer<ClientObject>

/** `makeInformer` with traced informers. What their objects are, path and lists say. */
export function tracedInformers<Given extends MakesInformers>(
  makeInformer: Given,
  instrumentation: Instrumentation,
): Given {
  const make = makeInformer as unknown as Make
  const traced: Make = (config, path, list, ...selector) => {
    const { apiVersion, resource } =
      attempt(() => requestTarget('GET', `https://localhost${path}`), undefined) ?? {}
    const filledIn = async (): Promise<ClientList> => {
      const listed = await list()
      attempt(() => {
        for (const item of listed.items) fillIn(item, { apiVersion, kind: listed.kind })
      }, undefined)
      return listed
    }
    return tracedInformer(
      make(config, path, filledIn, ...selector),
      { apiVersion, resource },
      instrumentation,
    )
  }
  return traced as unknown as Given
}
