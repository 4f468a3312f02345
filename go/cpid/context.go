// Package cpid has the trace context of a change, which is its change propagation ID (CPID) with some ancestors, as Kubernetes objects
// carry it in annotations, and the merge of several. It does no I/O and needs nothing but the standard library.
package cpid

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// MaxAncestors is the default number of ancestors on an object. Use the same in every controller of a cluster.
const MaxAncestors = 10

const (
	length     = 36
	digits     = 32
	longest    = 64
	nilCPID    = "00000000-0000-0000-0000-000000000000"
	dashPlaces = "\x08\x0d\x12\x17"
	// Bytes read per ancestor: three times a CPID with its comma, so that invalid entries may be skipped.
	readPerAncestor = 111
)

// Context is the trace context on an object: the changes that its state came from. CPIDs are in canonical text: lower case, dashed.
type Context struct {
	CPID string
	// Ancestors are some of the CPIDs that it descends from, nearest first. The list must not be modified.
	Ancestors []string
}

// IsZero reports whether there is no change.
func (c Context) IsZero() bool { return c.CPID == "" }

// Sound returns the context with CPIDs in canonical text and without invalid ancestors; the zero Context without a valid CPID.
func (c Context) Sound() Context {
	id, ok := Parse(c.CPID)
	if !ok {
		return Context{}
	}
	for i, ancestor := range c.Ancestors {
		if read, ok := Parse(ancestor); !ok || read != ancestor {
			return Context{id, soundAncestors(c.Ancestors, i)}
		}
	}
	return Context{id, c.Ancestors}
}

func soundAncestors(given []string, from int) []string {
	sound := append([]string(nil), given[:from]...)
	for _, one := range given[from:] {
		if read, ok := Parse(one); ok {
			sound = append(sound, read)
		}
	}
	return sound
}

// New makes a new CPID: a random UUID of version 4.
func New() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:]) // It never fails.
	return textOf(bytes, 4)
}

// Parse reads a CPID in any case, with all dashes or none, with blanks around it. False if it is not a UUID or all zeros.
func Parse(text string) (string, bool) {
	if isCanonical(text) {
		return text, text != nilCPID
	}
	if len(text) > longest {
		return "", false
	}
	text = strings.ToLower(strings.TrimSpace(text))
	if len(text) == digits {
		text = text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
	}
	if !isCanonical(text) || text == nilCPID {
		return "", false
	}
	return text, true
}

func isCanonical(text string) bool {
	if len(text) != length {
		return false
	}
	for i := range len(dashPlaces) {
		if text[dashPlaces[i]] != '-' {
			return false
		}
	}
	found := 0
	for i := range len(text) {
		if c := text[i]; c-'0' <= 9 || c-'a' <= 5 {
			found++
		}
	}
	return found == digits
}

func textOf(bytes [16]byte, version byte) string {
	bytes[6] = bytes[6]&0x0f | version<<4
	bytes[8] = bytes[8]&0x3f | 0x80
	var text [length]byte
	hex.Encode(text[:8], bytes[:4])
	hex.Encode(text[9:13], bytes[4:6])
	hex.Encode(text[14:18], bytes[6:8])
	hex.Encode(text[19:23], bytes[8:10])
	hex.Encode(text[24:], bytes[10:])
	for i := range len(dashPlaces) {
		text[dashPlaces[i]] = '-'
	}
	return string(text[:])
}

// readAncestors returns the first CPIDs of a comma-separated list. It skips invalid entries, id itself and repetitions, and reads only a
// bounded part of the text.
func readAncestors(text, id string, most int) []string {
	ancestors := make([]string, 0, min(most, len(text)/length))
	for last := most * readPerAncestor; text != "" && last > 0 && len(ancestors) < most; {
		entry, rest, _ := strings.Cut(text, ",")
		last -= len(text) - len(rest)
		text = rest
		if ancestor, ok := Parse(entry); ok && ancestor != id && !contains(ancestors, ancestor) {
			ancestors = append(ancestors, ancestor)
		}
	}
	return ancestors
}

// contains compares the last digit first, which avoids nearly all comparisons of whole CPIDs.
func contains(among []string, wanted string) bool {
	last := wanted[len(wanted)-1]
	for _, one := range among {
		if one[len(one)-1] == last && one == wanted {
			return true
		}
	}
	return false
}

type contextKey struct{}

// NewContext returns a context.Context for work caused by a change; parent itself without a change.
func NewContext(parent context.Context, c Context) context.Context {
	if c.IsZero() {
		return parent
	}
	return context.WithValue(parent, contextKey{}, c)
}

// FromContext returns the change that caused the work; the zero Context if there is none.
func FromContext(ctx context.Context) Context {
	c, _ := ctx.Value(contextKey{}).(Context)
	return c
}
