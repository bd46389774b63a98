// A client or a backend of the matrix, on the Go SDK: `client ERA URL TOKEN`, or `backend ERA`; the client of the field:
// `field-client`. It is told what to do, and tells what has happened, in lines of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"
)

const (
	resourceURI = "test://doc"
	modern      = "2026-07-28"
	legacy      = "2025-11-25"
)

type order struct {
	ID   int    `json:"id"`
	Do   string `json:"do"`
	Name string `json:"name"`
	Of   int    `json:"of"`
}

type members map[string]any

var output sync.Mutex

func tell(said members) {
	line, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// forEachOrder returns when the matrix wants no more.
func forEachOrder(carryOut func(order)) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var wanted order
		if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
			panic(err)
		}
		carryOut(wanted)
	}
}

func main() {
	switch os.Args[1] {
	case "client":
		runClient(os.Args[2], os.Args[3], os.Args[4])
	case "backend":
		runBackend(os.Args[2])
	case "field-client":
		runFieldClient()
	}
}
