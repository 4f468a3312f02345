import { get, type Agent } from 'node:http'

/** The body of what is answered to a GET; throws unless it is answered 200. */
export function textOf(url: string, agent: Agent): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  get(url, { agent }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    response.on('error', reject).on('end', () => {
      if (response.statusCode === 200) resolve(text)
      else reject(new Error(`${url} is answered ${response.statusCode}: ${text}`))
    })
  }).on('error', reject)
  return promise
}
