const ONE_VALUE = 'it takes one value, which is its default'
const FOR_OTHERS_SAKE =
  'it is taken for the sake of configurations that have it; its meaning in docs/config.md says so'

/** The keys that may be written and change nothing, by what they end with, and why. */
export const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  'grpc::transport': ONE_VALUE,
  'objects::0::mode': ONE_VALUE,
  'prometheus::without_type_suffix': ONE_VALUE,
  'prometheus::without_units': ONE_VALUE,
  'prometheus::without_scope_info': ONE_VALUE,
  'traces::processors': ONE_VALUE,
  'sending_queue::enabled': FOR_OTHERS_SAKE,
  'tls::client_ca_file_reload': FOR_OTHERS_SAKE,
  'batch::min_size': FOR_OTHERS_SAKE,
  'batch::flush_timeout': FOR_OTHERS_SAKE,
}
