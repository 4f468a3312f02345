// Package bounded has a map of bounded weight.
package bounded

import "container/list"

// Map evicts the oldest entries when their total weight exceeds its limit. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	most, weight int
	forgotten    int
	weightOf     func(V) int
	entries      map[K]*list.Element
	order        list.List
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// NewMap makes a map; an entry weighs 1 if weightOf is nil.
func NewMap[K comparable, V any](most int, weightOf func(V) int) *Map[K, V] {
	if weightOf == nil {
		weightOf = func(V) int { return 1 }
	}
	return &Map[K, V]{most: most, weightOf: weightOf, entries: map[K]*list.Element{}}
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Get returns the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	element, ok := m.entries[key]
	if !ok {
		return value, false
	}
	return element.Value.(entry[K, V]).value, true
}

// Set sets the value of a key and makes it the newest entry.
func (m *Map[K, V]) Set(key K, value V) {
	m.Delete(key)
	m.entries[key] = m.order.PushBack(entry[K, V]{key, value})
	m.weight += m.weightOf(value)
	for m.weight > m.most && m.order.Len() > 0 {
		m.Delete(m.order.Front().Value.(entry[K, V]).key)
		m.forgotten++
	}
}

// Limit changes the weight limit, which the next Set enforces.
func (m *Map[K, V]) Limit(most int) { m.most = most }

// Forgotten is how many entries were evicted.
func (m *Map[K, V]) Forgotten() int { return m.forgotten }

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	element, ok := m.entries[key]
	if !ok {
		return
	}
	m.weight -= m.weightOf(element.Value.(entry[K, V]).value)
	m.order.Remove(element)
	delete(m.entries, key)
}
