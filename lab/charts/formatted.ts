import { format, resolveConfig } from 'prettier'

/** A text as prettier would have the file of that name. */
export async function formatted(path: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), filepath: path })
}
