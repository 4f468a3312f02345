import { Authority } from '../../harness/certificates.ts'
import { change, make, remove } from './deeds.ts'
import type { Story } from './story.ts'

/** The namespace in which it runs, and whose objects bundles name. */
const SOURCES = '/api/v1/namespaces/controllers/configmaps'
const BUNDLES = '/apis/trust.cert-manager.io/v1alpha1/bundles'

/** Stories for a cluster in which trust-manager runs. */
export const STORIES_WITH_BUNDLES: readonly Story[] = [
  {
    name: 'k5-trusted',
    play: async ({ name, step, at }) => {
      const other = '/api/v1/namespaces/k5-other'
      const authority = (text: string): object => ({
        metadata: { name: 'authority' },
        data: { 'ca.crt': text },
      })
      const bundle = {
        apiVersion: 'trust.cert-manager.io/v1alpha1',
        kind: 'Bundle',
        metadata: { name: 'k5-bundle' },
        spec: {
          sources: [{ configMap: { name: 'authority', key: 'ca.crt' } }],
          target: { configMap: { key: 'all.pem' }, namespaceSelector: { matchLabels: { k5: 'yes' } } },
        },
      }
      const labelled = (label: string | null): object => ({ metadata: { labels: { k5: label } } })
      const [one, two] = [new Authority('one').cert, new Authority('two').cert]
      await step('alice', 'create the authority', make(SOURCES, authority(one)))
      await step('bob', 'label the namespace', change(`/api/v1/namespaces/${name}`, labelled('yes')))
      await step('carol', 'create the bundle', make(BUNDLES, bundle))
      await step(
        'alice',
        'create a labelled namespace',
        make('/api/v1/namespaces', { metadata: { name: 'k5-other', labels: { k5: 'yes' } } }),
      )
      await step('bob', 'change the authority', change(`${SOURCES}/authority`, authority(two)))
      await step('carol', 'delete a copy', remove(at('configmaps', 'k5-bundle')))
      await step(
        'alice',
        'edit a copy',
        change(at('configmaps', 'k5-bundle'), { data: { 'all.pem': 'nothing' } }),
      )
      await step('bob', 'take the label away', change(other, labelled(null)))
      await step('carol', 'label it again', change(other, labelled('yes')))
      await step(
        'alice',
        'rename the key',
        change(`${BUNDLES}/k5-bundle`, { spec: { target: { configMap: { key: 'trust.pem' } } } }),
      )
      await step('bob', 'delete the bundle', remove(`${BUNDLES}/k5-bundle`))
      await step('carol', 'delete namespace k5-other', (api) => api.delete(other))
    },
  },
]
