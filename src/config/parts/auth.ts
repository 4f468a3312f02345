import { UNSUPPORTED_COLLECTOR_KEY, refusedKeys, requiredField } from '../schema/field.ts'
import { TEXT } from '../schema/scalar-kinds.ts'
import { optionalSection } from '../schema/section.ts'

const authenticator = (meaning: string) => ({
  authenticator: requiredField(TEXT, 'authenticator: bearertokenauth', meaning),
})

/** The key of a listener by which it checks who connects. */
export const serverAuth = optionalSection('Who is let in. Left out, everybody is.', {
  ...authenticator('An extension, by id: `bearertokenauth`, or `basicauth` with `htpasswd`.'),
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'request_params'),
})

/** The key of an exporter by which it shows who it is. */
export const clientAuth = optionalSection('What is shown to the backend.', {
  ...authenticator('An extension, by id: `bearertokenauth`, or `basicauth` with `client_auth`.'),
})
