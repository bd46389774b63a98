package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const stepTimeMax = 15 * time.Second

// A plan of the field: what a client does in one session, each step with its words.
type plan struct {
	URL    string
	Token  string
	Answer map[string]any
	Steps  [][]json.RawMessage
}

func runFieldClient() {
	tell(members{"event": "ready"})
	forEachOrder(func(wanted order) {
		var given plan
		if err := json.Unmarshal([]byte(wanted.Name), &given); err != nil {
			panic(err)
		}
		text, err := json.Marshal(follow(given))
		if err != nil {
			panic(err)
		}
		tell(members{"id": wanted.ID, "text": string(text)})
	})
}

func follow(given plan) members {
	var under sync.Mutex
	reports := []any{}
	client := mcp.NewClient(&mcp.Implementation{Name: "field", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: given.Answer}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			under.Lock()
			defer under.Unlock()
			reports = append(reports, []any{request.Params.Progress, request.Params.Total, request.Params.Message})
		},
	})
	httpClient := &http.Client{Transport: withToken(given.Token)}
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeMax)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: given.URL, HTTPClient: httpClient}, nil)
	if err != nil {
		return members{"ended": err.Error(), "steps": []any{}}
	}
	defer session.Close()
	seen := []members{}
	for _, words := range given.Steps {
		var step, name string
		arguments := json.RawMessage("{}")
		json.Unmarshal(words[0], &step)
		if len(words) > 1 {
			json.Unmarshal(words[1], &name)
		}
		if len(words) > 2 {
			arguments = words[2]
		}
		stepCtx, end := context.WithTimeout(context.Background(), stepTimeMax)
		value, err := takeStep(stepCtx, session, step, name, arguments)
		end()
		if err == nil && step == "progress" {
			// Reports are handled beside the call, and may be later than its result.
			time.Sleep(200 * time.Millisecond)
			under.Lock()
			value = []any{value, reports}
			under.Unlock()
		}
		if err != nil {
			seen = append(seen, members{"error": err.Error()})
		} else {
			seen = append(seen, members{"value": value})
		}
	}
	return members{"version": session.InitializeResult().ProtocolVersion, "steps": seen}
}

func takeStep(ctx context.Context, session *mcp.ClientSession, step, name string, arguments json.RawMessage) (any, error) {
	switch step {
	case "tools":
		return all(session.Tools(ctx, nil))
	case "prompts":
		return all(session.Prompts(ctx, nil))
	case "resources":
		return all(session.Resources(ctx, nil))
	case "templates":
		return all(session.ResourceTemplates(ctx, nil))
	case "call", "ask", "progress":
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		if step == "progress" {
			params.SetProgressToken("progress")
		}
		return session.CallTool(ctx, params)
	case "prompt":
		var words map[string]string
		json.Unmarshal(arguments, &words)
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: words})
	case "read":
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: name})
	}
	return nil, fmt.Errorf("what is %q?", step)
}

func all[Item any](items iter.Seq2[Item, error]) (any, error) {
	found := []Item{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		found = append(found, item)
	}
	return found, nil
}
